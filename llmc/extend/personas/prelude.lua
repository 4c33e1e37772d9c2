-- What the script of a persona or a tool runs in. This chunk takes what it needs of the standard library, empties the globals, and gives
-- back one function: begin(source, name, what, given). The host runs that as a coroutine and resumes it with answers;
-- only texts of JSON go in and out, so that nothing of the host is ever reachable from a script.

local load, next, type, tostring, tonumber = load, next, type, tostring, tonumber
local error, pcall, select = error, pcall, select
local rawget, rawlen, yield = rawget, rawlen, coroutine.yield
local byte, find, format, gsub, match, sub = string.byte, string.find, string.format, string.gsub, string.match, string.sub
local concat, insert = table.concat, table.insert
local mathtype, tointeger, utf8char = math.type, math.tointeger, utf8.char

-- ---- JSON ----

local DEEPEST = 32
local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
local MEANT = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function quoted(text)
  return '"' .. gsub(text, '[%c"\\\127]', function(c) return ESCAPES[c] or format("\\u%04x", byte(c)) end) .. '"'
end

local encode

local function encode_table(value, depth)
  if depth > DEEPEST then error("a table is nested too deeply or contains itself", 0) end
  local parts, length = {}, rawlen(value)
  local count = 0
  for _ in next, value do count = count + 1 end
  if count == length then
    for at = 1, length do parts[at] = encode(rawget(value, at), depth + 1) end
    return "[" .. concat(parts, ",") .. "]"
  end
  for key, each in next, value do
    if type(key) ~= "string" and type(key) ~= "number" then error("a key of a table is a " .. type(key), 0) end
    insert(parts, quoted(tostring(key)) .. ":" .. encode(each, depth + 1))
  end
  return "{" .. concat(parts, ",") .. "}"
end

function encode(value, depth)
  local kind = type(value)
  if kind == "nil" or kind == "boolean" then return value == nil and "null" or tostring(value) end
  if kind == "string" then return quoted(value) end
  if kind == "table" then return encode_table(value, depth or 0) end
  if kind ~= "number" then error("a value of type " .. kind .. " cannot be returned", 0) end
  if mathtype(value) == "integer" then return format("%d", value) end
  if value ~= value or value == 1 / 0 or value == -1 / 0 then return "null" end
  return format("%.17g", value)
end

local decode_value

local function spaces(text, at) return (find(text, "[^ \t\r\n]", at)) or #text + 1 end

local function decode_text(text, at)
  local parts, from = {}, at + 1
  while true do
    local stop = find(text, '["\\]', from)
    insert(parts, sub(text, from, stop - 1))
    if byte(text, stop) == 34 then return concat(parts), stop + 1 end
    local escape = sub(text, stop + 1, stop + 1)
    from = stop + 2
    if escape == "u" then
      local code = tonumber(sub(text, from, from + 3), 16)
      from = from + 4
      if code >= 0xD800 and code < 0xDC00 and sub(text, from, from + 1) == "\\u" then
        code = 0x10000 + (code - 0xD800) * 0x400 + (tonumber(sub(text, from + 2, from + 5), 16) - 0xDC00)
        from = from + 6
      end
      insert(parts, utf8char(code))
    else
      insert(parts, MEANT[escape])
    end
  end
end

local function decode_many(text, at, closing, take)
  at = spaces(text, at + 1)
  if sub(text, at, at) == closing then return at + 1 end
  while true do
    at = spaces(text, take(at))
    if sub(text, at, at) == closing then return at + 1 end
    at = spaces(text, at + 1)
  end
end

function decode_value(text, at)
  local first = sub(text, at, at)
  if first == '"' then return decode_text(text, at) end
  if first == "[" or first == "{" then
    local made, number = {}, 0
    local after = decode_many(text, at, first == "[" and "]" or "}", function(from)
      local key, value
      if first == "{" then
        key, from = decode_text(text, from)
        from = spaces(text, spaces(text, from) + 1)
      end
      value, from = decode_value(text, from)
      number = number + 1
      made[key or number] = value
      return from
    end)
    return made, after
  end
  local word = match(text, "^[%w.+-]+", at)
  local known = { ["true"] = true, ["false"] = false }
  if known[word] ~= nil then return known[word], at + #word end
  return tointeger(tonumber(word)) or tonumber(word), at + #word
end

local function decode(text) return (decode_value(text, spaces(text, 1))) end

-- ---- what a script may have ----

local function copy(from, names)
  local made = {}
  for name in gsub(names, "%s+", " "):gmatch("%S+") do made[name] = from[name] end
  return made
end

local allowed = copy(_G, "assert error getmetatable ipairs next pairs pcall rawequal rawget rawlen rawset select "
  .. "setmetatable tonumber tostring type xpcall _VERSION")
allowed.string = copy(string, "byte char find format gmatch gsub len lower match rep reverse sub upper")
allowed.table = copy(table, "concat insert move pack remove sort unpack")
allowed.math = copy(math, "abs acos asin atan ceil cos deg exp floor fmod huge log max maxinteger min mininteger modf pi "
  .. "rad random randomseed sin sqrt tan tointeger type ult")
allowed.utf8 = copy(utf8, "char charpattern codepoint codes len offset")
allowed._G = allowed
allowed.print = function(...)
  local said = {}
  for at = 1, select("#", ...) do said[at] = tostring((select(at, ...))) end
  yield("print", encode(concat(said, "\t")))
end

-- A finaliser would run when the next script is under way.
local setmetatable = setmetatable
allowed.setmetatable = function(table, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then error("__gc is not available", 2) end
  return setmetatable(table, meta)
end

getmetatable("").__index = allowed.string
local globals = _G
for name in next, globals do globals[name] = nil end

-- ---- calls back ----

local function ask(name, ...)
  local failed, answer = yield("call", encode({ name = name, args = { ... } }))
  if failed then error(decode(answer), 2) end
  return decode(answer)
end

local context = {
  search = function(asked) return ask("search", asked) end,
  get = function(id) return ask("get", id) end,
  sources = function() return ask("sources") end,
  documents = function(asked) return ask("documents", asked) end,
}

-- ---- running one ----

local FUNCTIONS = { agent = "resolve", tool = "execute" }

local function described(kind, made)
  return { name = made.name, description = made.description, tools = made.tools, arguments = made.arguments,
    callable = type(made[FUNCTIONS[kind]]) == "function" }
end

local function worded(wrong) return type(wrong) == "string" and wrong or "it raised a " .. type(wrong) end

return function(source, name, what, given)
  local chunk, wrong = load(source, "=" .. name, "t", allowed)
  if not chunk then return "error", encode({ stage = "parse", message = wrong }) end
  local done, result = pcall(function()
    local kind = match(what, "%a+$")
    local made = chunk() or allowed[kind]
    if type(made) ~= "table" then error("the script does not return a table `" .. kind .. "`", 0) end
    if what == "describe " .. kind then return described(kind, made) end
    local run = made[FUNCTIONS[kind]]
    if type(run) ~= "function" then error(kind .. "." .. FUNCTIONS[kind] .. " is not a function", 0) end
    local asked = decode(given)
    return run(asked.args, asked.config, context)
  end)
  if not done then return "error", encode({ stage = "run", message = worded(result) }) end
  local sent, text = pcall(encode, result)
  if not sent then return "error", encode({ stage = "shape", message = worded(text) }) end
  return "done", text
end
