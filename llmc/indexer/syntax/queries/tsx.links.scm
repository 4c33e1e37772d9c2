; inherits: typescript.links
