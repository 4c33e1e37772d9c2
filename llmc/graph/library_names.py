"""Names of methods that standard libraries and common frameworks define, too.

A call `x.get()` whose receiver is unknown says nothing about the one class here that has a method `get`. Edges by name
are listed for other names alone.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LIBRARY_NAMES"]

_BUILTINS: Final = (str, bytes, bytearray, dict, list, set, tuple, int, float, memoryview, BaseException, object)
_OTHERS: Final = """
    abs accept add addEventListener aggregate all all_ and_then annotate any append apply apply_ args as_bytes
    as_deref as_mut as_ref as_slice as_str assign at await bind body bool borrow build builder bulk_create bytes
    call cancel catch ceil chain charAt charCodeAt chars check children chmod chunks clear clearTimeout click clone
    cloned close collect commit compile concat config connect contains containsKey context count create
    createElement cursor data date debug decode default delete deref destroy dict difference digest disconnect
    dispatch dispatchEvent distinct done drain drop dump dumps elapsed emit empty enabled encode end end_with
    endsWith ends_with entries enumerate equal equals err error escape eval every exclude exec execute execute_batch
    exists exit expect extend extract fail field file fill filter filterMap filter_map finally find findIndex
    find_all first flat flatMap flat_map flatten floor flush fmt focus fold forEach for_each format from fromEntries
    from_str full_clean fullmatch func future get getAttribute getItem getLogger getTime get_mut get_or_create
    get_or_insert group groupBy groups handle has hasAttribute hasOwnProperty hash head header hexdigest hide id
    identity imag in_bulk includes index indexOf indexes info init initialize inner insert insertBefore instance int
    intersect into into_inner into_iter is is_empty is_err is_none is_ok is_some isoformat item items iter iter_mut
    iterator join json key keys kill kind last lastIndexOf len length limit list listen load loads localeCompare
    lock log lower main make map mapValues map_err match matchAll matches max merge message method min mkdir name
    new next none not notify now nth null objects off ok ok_or ok_or_else on onChange once only open option options
    or or_else order_by output override pad padEnd padStart parent parse partition patch path peek pipe poll pop
    position post preventDefault print println process promise prop push push_back push_str put query querySelector
    querySelectorAll queryset quit raise random range raw read readFile read_to_string ready recv reduce refresh
    register reject release reload remove removeAttribute removeChild removeEventListener render repeat replace
    replaceAll request reset resolve respond response rest result retain return returning rev reverse rewind
    rollback round row rows run save scan search seek select select_related send sendall serialize set setAttribute
    setItem setTimeout set_ setdefault setup shift show shuffle signal size skip sleep slice some sort sortBy
    sort_by spawn splice split start startWith startsWith starts_with stat state status step stop stream strftime
    string stringify strip strptime sub subscribe substring sum super swap sync take task tell test text then
    timeout times timestamp to toArray toFixed toISOString toList toLowerCase toString toUpperCase to_dict to_owned
    to_string to_vec toggle tokens total touch transaction transform trigger trim truncate truthy try_from try_into
    tuple type uniq unlink unshift unsubscribe unwrap unwrap_or unwrap_or_default unwrap_or_else update upper url
    use usize validate value values vec verify view wait walk warn warning where width window with with_capacity
    wrap write writeFile write_all writelines yield zip
"""
LIBRARY_NAMES: Final = frozenset({name for kind in _BUILTINS for name in dir(kind)} | set(_OTHERS.split()))
