"""ldpopt: state a problem, get the provably best private mechanism.

`__init__.pyi` is the list of public names; each is imported when it is first used, so that start-up is fast.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
