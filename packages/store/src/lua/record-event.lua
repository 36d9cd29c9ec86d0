-- Creates the event's record (if absent) and its deliveries [from, from + count).
-- KEYS[1] event record
-- ARGV prefix, policy, event key, from, count, plan (JSON array of {d, k, r}: destination, serial key's gate, reference where it is
--      not the event id), replan ('1': an empty stored plan may be replaced), source, operator, then field, value ... of the record
-- Returns { destinations in the plan, alarm id ... whose job must be added }. A repeated run returns only what never began.
local P, p, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local event, from, wanted = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local source, operator = ARGV[8], ARGV[9]
local plan = redis.call('HGET', KEYS[1], 'plan') -- the stored plan wins: configuration may have changed since a run that died
local again = plan and plan ~= '[]'
if not plan then
  plan = ARGV[6]
  redis.call('HSET', KEYS[1], 'plan', plan, 'recordedAt', now, 'source', source, 'operator', operator, unpack(ARGV, 10))
  redis.call('ZADD', P .. 'recorded', now, event)
  local published = source == 'api' -- the reserved source, the only one that operators share: what is whose is counted beside it
  count(P, 'accepted:' .. source, 1)
  if published then count(P, 'published:' .. operator, 1) end
  if plan == '[]' then
    count(P, 'unrouted:' .. source, 1)
    if published then count(P, 'published-unrouted:' .. operator, 1) end
    redis.call('ZADD', P .. 'unrouted', now, event)
  end
elseif redis.call('HEXISTS', KEYS[1], 'leaving') == 1 then return { #cjson.decode(plan) } -- its deliveries are gone or going: none is made again
elseif plan == '[]' and ARGV[7] == '1' and ARGV[6] ~= '[]' then
  plan = ARGV[6]
  redis.call('HSET', KEYS[1], 'plan', plan)
end
redis.call('ZADD', P .. 'retention', 'NX', now + p.retentionMs, event)
local received = tonumber(redis.call('HGET', KEYS[1], 'receivedAt')) or now
-- A record that was made, counted and lost: its status leaves ledger and index, and what was counted once is not counted again. The
-- indexes still know it. True where there was one.
local function forget_class(id, destination) -- only the record knew it; of a dead letter the groups do
  local d = { id = id, operator = operator, destination = destination }
  for _, group in ipairs(redis.call('ZRANGE', P .. 'dead-groups:' .. operator, 0, -1)) do
    if string.sub(group, 1, #destination + 1) == destination .. ':' then
      d.class = string.sub(group, #destination + 2)
      regroup(P, d, nil)
      redis.call('ZREM', P .. 'index:' .. operator .. ':why:' .. d.class, id)
    end
  end
end
local STATUSES = { 'pending', 'failed', 'held', 'sent', 'dead_letter', 'resolved' }
local function forget_lost(id, destination)
  if not again or not redis.call('ZSCORE', P .. 'index:' .. operator .. ':all', id) then return false end
  for _, status in ipairs(STATUSES) do
    if redis.call('ZREM', P .. 'index:' .. operator .. ':' .. status, id) == 1 then
      count(P, 'status:' .. label(destination) .. ':' .. status, -1)
      if status == 'dead_letter' then shadow(P, id); forget_class(id, destination) end
      local target = erp_target(destination)
      local counted = status == 'sent' or (status == 'resolved' and redis.call('SREM', P .. 'settled', id) == 1)
      if target and counted then redis.call('HSET', key(P, id), 'found', 1) end -- its posting is counted
      if target and status == 'resolved' and not counted then count(P, 'resolved:' .. target, -1) end -- owed again
    end
  end
  return true
end
local function create(id, destination, entry)
  local v = redis.call('HMGET', key(P, id), 'status', 'attempts', 'seq')
  if v[1] then return v[1] == 'pending' and v[2] == '0' and v[3] == '1' end -- made by a run that may have died before it added the job
  local lost = forget_lost(id, destination)
  redis.call('HSET', key(P, id), 'status', 'pending', 'statusAt', now, 'operator', operator, 'seq', 1, 'nextAttemptAt', now, 'scheduleMade', 0, 'attempts', 0, 'createdAt', now)
  -- Its place in the line is its acceptance, whoever meets the closed gate first (by ingest's clock: it only orders, nothing waits for it).
  if entry.k then
    local place = math.max(1, math.min(received, now))
    redis.call('HSET', key(P, id), 'keyGate', entry.k, 'parkedAt', place)
    redis.call('ZADD', gate(P, entry.k, 'line'), place, id)
  end
  if entry.r then
    redis.call('HSET', key(P, id), 'reference', entry.r)
    if erp_target(destination) then redis.call('HSETNX', P .. 'references:' .. destination, entry.r, id) end -- the first keeps it, as at the ERP
  end
  count(P, 'status:' .. label(destination) .. ':pending', 1)
  if not lost then
    count(P, 'created:' .. label(destination), 1)
    if erp_target(destination) then count(P, 'expected:' .. erp_target(destination), 1) end
  end
  redis.call('ZADD', P .. 'index:' .. operator .. ':pending', now, id)
  redis.call('ZADD', P .. 'index:' .. operator .. ':to:' .. destination, now, id)
  redis.call('ZADD', P .. 'index:' .. operator .. ':from:' .. source, now, id)
  redis.call('ZADD', P .. 'index:' .. operator .. ':all', now, id)
  redis.call('ZADD', P .. 'open:' .. label(destination), now, id)
  redis.call('ZADD', alarms(P, id), now + p.graceMs, id .. '-1')
  return true
end
local entries = cjson.decode(plan)
local out = { #entries }
for i = from + 1, math.min(from + wanted, #entries) do
  local id = event .. '.' .. entries[i].d
  if create(id, entries[i].d, entries[i]) then out[#out + 1] = id .. '-1' end
end
-- No job stands for an event that is fanned out by hand, so it stays listed until the last of its deliveries is made.
if #entries > 0 and from + wanted >= #entries then redis.call('ZREM', P .. 'unrouted', event) end
return out
