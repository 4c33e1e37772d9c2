"""passages: which lines of a file answer a question?"""
