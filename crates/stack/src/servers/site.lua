-- The endpoints of the built-in target that load on a server needs, on nginx: the same contract, written apart.
-- What it does otherwise is listed, and checked, in plimsoll/tests/conformance/table.rs.
local site = {}

local SIZE_MAX, CHUNK_MAX, SLEEP_MAX_S, CPU_MAX_US, SIGMA_MAX = 2 ^ 30, 65536, 60, 1e7, 3
local SIZE_UNITS = {
  [""] = 1, B = 1, kB = 1e3, KB = 1e3, MB = 1e6, GB = 1e9, k = 1024, K = 1024, KiB = 1024, M = 2 ^ 20, MiB = 2 ^ 20,
  GiB = 2 ^ 30,
}
local TIME_UNITS = { [""] = 1, ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, m = 60, h = 3600 }
local COUNT_UNITS = { [""] = 1, k = 1e3, K = 1e3, M = 1e6, G = 1e9 }
local ZEROS = string.rep("\0", CHUNK_MAX)
local PATTERN = string.rep("0123456789abcdef", CHUNK_MAX / 16 + 1)

local function answer(status, content_type, body)
  ngx.status = status
  ngx.header.content_type = content_type
  ngx.header.content_length = #body
  ngx.print(body)
end

local function text(body) answer(200, "text/plain", body) end

local function json(status, ...) answer(status, "application/json", string.format(...) .. "\n") end

-- Ends the request; the handler is left by an error that `serve` knows.
local function bad(parameter, reason, example)
  json(400, '{"error":"%s","parameter":"%s","example":"%s"}', reason, parameter, example)
  error(site, 0)
end

-- A parameter as text; nil without it.
local function given(args, name, example)
  local value = args[name]
  if type(value) == "table" then bad(name, "it is given more than once", example) end
  return value == true and "" or value
end

-- A number with a unit.
local function number(value, units, name, example)
  local digits, unit = string.match(value, "^(%d+%.?%d*)(%a*)$")
  if not digits or not units[unit] then bad(name, "it is not understood", example) end
  return tonumber(digits) * units[unit]
end

local function within(n, min, max, name, example)
  if n < min or n > max then bad(name, "it is not within its bounds", example) end
  return n
end

local function whole(value, units, min, max, name, example)
  local n = number(value, units, name, example)
  if n % 1 ~= 0 then bad(name, "it is not whole", example) end
  return within(n, min, max, name, example)
end

local function size(args, name, default, min, max, example)
  local value = given(args, name, example)
  return value and whole(value, SIZE_UNITS, min, max, name, example) or default
end

local function seconds(args, name, example)
  local value = given(args, name, example)
  return value and within(number(value, TIME_UNITS, name, example), 0, SLEEP_MAX_S, name, example)
end

-- Sends `total` bytes, each piece when the client has taken the one before.
local function send(total, chunk, piece)
  ngx.header.content_type = "application/octet-stream"
  if not chunk then ngx.header.content_length = total end
  local sent = 0
  while sent < total do
    local n = math.min(chunk or CHUNK_MAX, total - sent)
    if not ngx.print(piece(sent, n)) or not ngx.flush(true) then return end
    sent = sent + n
  end
end

local function zeros(_, n) return n == CHUNK_MAX and ZEROS or string.sub(ZEROS, 1, n) end

local function pattern(at, n) return string.sub(PATTERN, at % 16 + 1, at % 16 + n) end

local function needed(args, name, example)
  return seconds(args, name, example) or bad(name, "it is missing", example)
end

-- Neither 0 nor 1.
local function uniform() return (math.random(0, 2 ^ 30 - 1) + 0.5) / 2 ^ 30 end

local DISTRIBUTIONS = {
  exp = function(args)
    return -math.log(uniform()) * needed(args, "mean", "/sleep?dist=exp&mean=5ms")
  end,
  uniform = function(args)
    local example = "/sleep?dist=uniform&min=1ms&max=9ms"
    local min, max = needed(args, "min", example), needed(args, "max", example)
    if min > max then bad("min", "it is above max", example) end
    return min + uniform() * (max - min)
  end,
  lognormal = function(args)
    local example = "/sleep?dist=lognormal&mean=5ms&sigma=0.5"
    local mean = needed(args, "mean", example)
    local value = given(args, "sigma", example) or bad("sigma", "it is missing", example)
    local sigma = within(number(value, { [""] = 1 }, "sigma", example), 0, SIGMA_MAX, "sigma", example)
    local normal = math.sqrt(-2 * math.log(uniform())) * math.cos(2 * math.pi * uniform())
    return mean * math.exp(sigma * normal - sigma * sigma / 2)
  end,
}

local function upload(args)
  ngx.req.read_body()
  local body = ngx.req.get_body_data() or ""
  local expect = size(args, "expect", #body, 0, math.huge, "/upload?expect=5")
  if expect ~= #body then bad("expect", #body .. " bytes came, " .. expect .. " were expected", "/upload?expect=5") end
  json(200, '{"received_bytes":%d,"crc32":"%08x"}', #body, ngx.crc32_long(body))
end

local function landing()
  local host = string.match(ngx.var.http_host or "", "^[%w.:_%-%[%]]+$") or ngx.var.server_addr .. ":" .. ngx.var.server_port
  local lines = {}
  for _, target in ipairs({ "/zero?size=2048", "/urandom?size=2048", "/download?size=20480", "/sleep?time=20ms" }) do
    lines[#lines + 1] = "<li><code>curl -i 'http://" .. host .. target .. "'</code></li>"
  end
  answer(200, "text/html; charset=utf-8", "<!DOCTYPE html><ul>" .. table.concat(lines, "\n") .. "</ul>\n")
end

local ROUTES = {
  ["/"] = landing,
  ["/index.html"] = landing,
  ["/zero"] = function(args) send(size(args, "size", 2048, 0, SIZE_MAX, "/zero?size=2048"), nil, zeros) end,
  ["/urandom"] = function(args)
    local total = size(args, "size", 2048, 0, SIZE_MAX, "/urandom?size=2048")
    local random = assert(io.open("/dev/urandom", "rb"))
    send(total, nil, function(_, n) return random:read(n) end)
    random:close()
  end,
  ["/download"] = function(args)
    local example = "/download?size=20480&chunk_size=2048"
    local chunk = size(args, "chunk_size", nil, 1, CHUNK_MAX, example)
    send(size(args, "size", 10 * (chunk or 2048), 0, SIZE_MAX, example), chunk, zeros)
  end,
  ["/sleep"] = function(args)
    local time, kind = seconds(args, "time", "/sleep?time=20ms"), given(args, "dist", "/sleep?dist=exp&mean=5ms")
    if kind then
      if time then bad("time", "a sleep has a time or a distribution, not both", "/sleep?time=20ms") end
      local draw = DISTRIBUTIONS[kind] or bad("dist", "it is not known", "/sleep?dist=exp&mean=5ms")
      time = math.min(draw(args), SLEEP_MAX_S)
    end
    ngx.sleep(time or 1)
    text("slept\n")
  end,
  ["/cpu"] = function(args)
    local value = given(args, "us", "/cpu?us=500") or bad("us", "it is missing", "/cpu?us=500")
    local until_s = os.clock() + whole(value, COUNT_UNITS, 0, CPU_MAX_US, "us", "/cpu?us=500") / 1e6
    while os.clock() < until_s do end
    text("burned\n")
  end,
  ["/upload"] = upload,
}

local PREFIXES = {
  bytes = function(rest, args)
    local chunked = given(args, "chunked", "/bytes/64KiB?chunked")
    local yes = { [""] = true, ["1"] = true, ["true"] = true, yes = true, ["0"] = false, ["false"] = false, no = false }
    if chunked and yes[chunked] == nil then bad("chunked", "it is not a yes or no", "/bytes/64KiB?chunked") end
    local total = whole(rest, SIZE_UNITS, 0, SIZE_MAX, "SIZE", "/bytes/64KiB")
    send(total, chunked and yes[chunked] and 16384 or nil, pattern)
  end,
  status = function(rest)
    local status = string.match(rest, "^[2-5]%d%d$")
    if not status then bad("CODE", "it is not a status from 200 to 599", "/status/404") end
    ngx.status = tonumber(status)
    if status == "204" or status == "304" then return end
    answer(ngx.status, "text/plain", "status " .. status .. "\n")
  end,
}

local function route()
  local uri = ngx.var.uri
  local handler = ROUTES[uri]
  if handler then return handler, handler == landing and "GET, HEAD" or "GET, HEAD, POST, PUT" end
  local first, rest = string.match(uri, "^/(%a+)/?(.*)$")
  if PREFIXES[first] then return function(args) PREFIXES[first](rest, args) end, "GET, HEAD, POST, PUT" end
end

function site.serve()
  local handler, allowed = route()
  if not handler then return json(404, '{"error":"no such endpoint; / lists them"}') end
  if not string.find(", " .. allowed .. ",", ", " .. ngx.req.get_method() .. ",", 1, true) then
    ngx.header.allow = allowed
    return json(405, '{"error":"this endpoint does not take that method"}')
  end
  local done, problem = pcall(handler, ngx.req.get_uri_args())
  if not done and problem ~= site then error(problem, 0) end
end

return site
