"""graph: who calls this, what does it call, what implements it, which tests reach it?"""
