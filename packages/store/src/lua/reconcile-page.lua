-- Looks at the next events of a time range, and at what became of them at one ERP target. Reads only. What is as it should be is counted
-- here and not returned: of a million deliveries that were posted nothing but counts leaves Redis.
-- KEYS[1] recorded, KEYS[2] documents that the ERP listed (delivery -> document); an empty name when it was not asked
-- ARGV prefix, destination, from (ms), until (ms), after: score and event of the last one seen ('' at first), limit, grace (ms),
--      operators as JSON: whose lists of deliveries to the target are asked about an event whose record is gone
-- Returns { now, events looked at, deliveries to the target, of those waiting or not due, last score, last event, 1 at the end, JSON ... }
local P, destination, from, till = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local afterScore, afterEvent, limit, grace = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local now = now_ms()
local function first_rank()
  if not afterScore or afterScore < from then return redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. string.format('%.0f', from)) end
  local at = string.format('%.0f', afterScore)
  local rank = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. at) -- the last one seen may have left meanwhile: its place is found by order
  for _, event in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], at, at)) do if event <= afterEvent then rank = rank + 1 end end
  return rank
end
local wanted = '"d":"' .. destination .. '"'
local FACTS = { 'status', 'operator', 'statusAt', 'createdAt', 'created', 'found', 'doubt', 'doubtAt', 'run', 'runUntil', 'nextAttemptAt', 'seq', 'keyGate',
  'reference', 'receipt', 'reason', 'attempts', 'sentAt', 'lookupFor' }
local function last_attempt(id, attempts)
  for n = attempts, math.max(1, attempts - 3), -1 do -- one in flight or deferred has no row
    local row = redis.call('HGET', key(P, id), 'a' .. n)
    if row then return row end
  end
  return ''
end
local function armed(id, f)
  local alarmId = id .. '-' .. (f.seq or '')
  if redis.call('ZSCORE', alarms(P, id), alarmId) then return 'armed' end
  if redis.call('ZSCORE', gate(P, destination, 'waiting'), alarmId) then return 'waiting' end
  if f.keyGate and redis.call('ZSCORE', gate(P, f.keyGate, 'waiting'), alarmId) then return 'waiting' end
  return 'no'
end
local function owner_of(id)
  for _, operator in ipairs(cjson.decode(ARGV[9])) do
    if redis.call('ZSCORE', P .. 'index:' .. operator .. ':to:' .. destination, id) then return operator end
  end
end
local reply = { now, 0, 0, 0, afterScore and string.format('%.0f', afterScore) or '', afterEvent, 1 }
-- True where there is nothing to say about it: posted once, settled by a person, in flight, or it will be tried in time.
local function well(id, f, document)
  local created, found = tonumber(f.created) or 0, tonumber(f.found) or 0
  if created > 1 then return false end
  if f.status == 'sent' then return created + found > 0 and (KEYS[2] == '' or document) end
  if f.status == 'resolved' or (f.run and tonumber(f.runUntil) > now) then return true end
  if not OPEN[f.status] then return false end
  f.armed = armed(id, f)
  if f.armed == 'no' and not f.run then return false end
  if f.doubt == '1' then return false end
  return f.armed == 'waiting' or (tonumber(f.nextAttemptAt) or 0) + grace > now
end
local rank = first_rank()
local page = redis.call('ZRANGE', KEYS[1], rank, rank + limit - 1, 'WITHSCORES')
if #page == 2 * limit then reply[7] = 0 end
for i = 1, #page, 2 do
  local event, at = page[i], tonumber(page[i + 1])
  if at > till then reply[7] = 1; break end
  reply[2], reply[5], reply[6] = reply[2] + 1, string.format('%.0f', at), event
  local name = P .. 'event:' .. event
  local plan, leaving = unpack(redis.call('HMGET', name, 'plan', 'leaving')) -- one that leaves has lost some of its deliveries rightly
  local id = event .. '.' .. destination
  local v = redis.call('HMGET', key(P, id), unpack(FACTS))
  local planned = plan and string.find(plan, wanted, 1, true) ~= nil
  local owner = not plan and not v[1] and owner_of(id)
  if not leaving and (v[1] or planned or owner or plan == '[]') then
    local f = {}
    for n, field in ipairs(FACTS) do if v[n] then f[field] = v[n] end end
    local document = KEYS[2] ~= '' and redis.call('HGET', KEYS[2], id) or nil
    if v[1] or planned or owner then reply[3] = reply[3] + 1 end
    if v[1] and well(id, f, document) then
      if OPEN[f.status] then reply[4] = reply[4] + 1 end
    else
      local e = redis.call('HMGET', name, 'source', 'eventId', 'type', 'operator')
      f.id, f.recordedAt, f.planned, f.document = id, at, planned or false, document
      f.source, f.eventId, f.type, f.operator = e[1], e[2], e[3], f.operator or e[4] or owner
      f.eventLost = not plan
      for k, value in pairs(f) do if value == false then f[k] = nil end end
      f.last = v[1] and last_attempt(id, tonumber(f.attempts) or 0) or nil
      reply[#reply + 1] = cjson.encode(f)
    end
  end
end
return reply
