-- Puts an event and some of its deliveries into every list that they belong in: for records from before a list existed. The record says
-- what is right, so doing it again changes nothing.
-- KEYS[1] event record
-- ARGV prefix, event key, from, count
-- Returns { destinations in the plan; 0 where the event is gone or leaving }
local P, event, from, wanted, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), now_ms()
local v = redis.call('HMGET', KEYS[1], 'plan', 'leaving', 'recordedAt', 'source')
if not v[1] or v[2] then return { 0 } end
redis.call('ZADD', P .. 'recorded', 'NX', tonumber(v[3]) or now, event)
redis.call('ZADD', P .. 'retention', 'NX', now, event) -- the sweeper looks at once, and finds out when its time is
-- The class of the latest row, which the record did not always have.
local function class_of(d)
  if d.status == 'sent' then return '' end
  for n = d.attempts, 1, -1 do
    local row = redis.call('HGET', key(P, d.id), 'a' .. n)
    if row then return string.match(row, '^%a|%d+|%d+|%d+|([^|]*)') or '' end
  end
  return ''
end
local function index(id)
  local d = load(P, id)
  if not d then return end
  local statusAt = tonumber(redis.call('HGET', key(P, id), 'statusAt')) or now
  if d.createdAt == 0 then d.createdAt = statusAt end
  local function into(name, at) redis.call('ZADD', P .. 'index:' .. d.operator .. ':' .. name, at, id) end
  into(d.status, statusAt)
  into('all', d.createdAt)
  into('to:' .. d.destination, d.createdAt)
  into('from:' .. (v[4] or ''), d.createdAt)
  if OPEN[d.status] then redis.call('ZADD', P .. 'open:' .. label(d.destination), d.createdAt, id) end
  if redis.call('HEXISTS', key(P, id), 'class') == 0 then set_class(P, d, class_of(d))
  elseif d.class ~= '' then into('why:' .. d.class, d.createdAt) end
  regroup(P, d, d.status == 'dead_letter' and statusAt or nil)
end
local entries = cjson.decode(v[1])
for i = from + 1, math.min(from + wanted, #entries) do index(event .. '.' .. entries[i].d) end
return { #entries }
