"""Method names that standard libraries and common frameworks define, too.

A call `x.get()` with an unknown receiver is no evidence for the one class of the repository with a method `get`. Edges
by name are only listed for other names.
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
# Names of several words, from the standard libraries of Rust, Go, Java, C#, JavaScript and C++ and from common web
# frameworks.
_SEVERAL_WORDS: Final = """
    and_modify as_mut_slice as_os_str as_ptr as_secs as_millis as_u64 as_i64 as_f64 binary_search char_indices
    checked_add checked_sub copy_from_slice create_dir create_dir_all current_dir drain_filter elapsed_millis
    exit_code extend_from_slice file_name file_stem file_type from_iter from_millis from_secs from_utf8
    from_utf8_lossy get_unchecked get_or_insert_with has_root into_boxed_str into_bytes into_iter into_keys
    into_parts into_response into_string into_values is_alphabetic is_alphanumeric is_ascii is_dir is_file is_finite
    is_nan is_numeric is_symlink is_whitespace iter_mut join_all last_mut local_addr map_or map_or_else max_by
    max_by_key min_by min_by_key next_back next_tick or_default or_insert or_insert_with parent_mut peer_addr
    poll_next poll_read poll_ready poll_write read_dir read_exact read_line read_link read_to_end recv_timeout
    retain_mut rsplit_once saturating_add saturating_sub saturating_duration_since send_timeout set_len
    set_permissions skip_while sort_unstable sort_unstable_by split_at split_off split_once split_whitespace
    starts_with step_by strip_prefix strip_suffix swap_remove symlink_metadata take_while to_ascii_lowercase
    to_ascii_uppercase to_bits to_le_bytes to_be_bytes to_lowercase to_path_buf to_socket_addrs to_str
    to_string_lossy to_uppercase trim_end trim_end_matches trim_start trim_start_matches try_lock try_recv try_send
    unwrap_err unwrap_unchecked with_extension with_file_name wrapping_add write_fmt write_str zip_with getBytes
    getCanonicalName getCause getClass getClassLoader getContentType getCurrent getDeclaredField getDeclaredMethod
    getElementById getFullYear getHours getInputStream getInstance getLength getLocalizedMessage getMessage
    getMinutes getName getOrDefault getOrElse getOutputStream getResourceAsStream getSeconds getSimpleName
    getStackTrace getStatusCode getString getTimezoneOffset hasMoreElements hasNext hashCode equalsIgnoreCase
    compareTo containsValue putAll putIfAbsent computeIfAbsent computeIfPresent removeIf retainAll isEmpty isPresent
    isAbsent ifPresent ifPresentOrElse orElse orElseGet orElseThrow flatMap mapToInt mapToLong mapToObj
    forEachOrdered anyMatch allMatch noneMatch findAny toUpperCase entrySet keySet subList listIterator lastIndexOf
    intValue longValue doubleValue floatValue booleanValue parseInt parseLong valueOf nextElement readLine
    writeBytes writeLine plusDays plusMonths minusDays toInstant toLocalDate toEpochMilli toByteArray toCharArray
    newInstance isInstance isAssignableFrom AddRange AsEnumerable AsQueryable AsSpan BeginInvoke CompareTo
    ContainsKey ConfigureAwait CopyTo CreateInstance DisposeAsync EndsWith EndInvoke FirstOrDefault GetAwaiter
    GetBytes GetEnumerator GetHashCode GetService GetRequiredService GetString GroupBy IndexOf InsertRange MoveNext
    OrderBy OrderByDescending ReadAsync ReadLine ReadToEnd RemoveAll RemoveAt SaveChanges SaveChangesAsync
    SelectMany SequenceEqual SingleOrDefault StartsWith ThenBy ToArray ToDictionary ToList ToListAsync ToLower
    ToUpper TrimEnd TrimStart TryAdd TryGetValue TryParse WaitAsync WhenAll WriteAsync WriteLine ReadAll ReadBytes
    ReadString WriteByte WriteHeader WriteRune WriteString WriteTo SetDeadline LocalAddr RemoteAddr ServeHTTP
    RoundTrip ListenAndServe QueryRow ExecContext RowsAffected LastInsertId MarshalJSON UnmarshalJSON MarshalText
    UnmarshalText appendChild cloneNode removeItem stopPropagation getBoundingClientRect isArray hasOwn fromEntries
    allSettled codePointAt fromCharCode toISOString toLocaleString toLocaleDateString getPrototypeOf setInterval
    clearInterval requestAnimationFrame replaceChild scrollTo scrollIntoView toJSON push_front pop_front
    emplace_back emplace_front c_str find_first_of find_last_of shrink_to_fit lower_bound upper_bound equal_range
    notify_one notify_all wait_until
"""
LIBRARY_NAMES: Final = frozenset(
    {name for kind in _BUILTINS for name in dir(kind)} | set(_OTHERS.split()) | set(_SEVERAL_WORDS.split())
)
