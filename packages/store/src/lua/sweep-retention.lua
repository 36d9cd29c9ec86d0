-- Takes away events whose deliveries have all ended long enough ago, with everything that is theirs. An event and its deliveries leave
-- together: a repeated fan-out must find all of them or be stopped by the claim, and a replay must find its event.
-- KEYS[1] retention
-- ARGV prefix, retention (ms), at most so many events, at most so many deliveries
-- Returns { events that left, deliveries that left, events of those that nobody had wanted, 1 when there is more to do now }
local P, keepMs, now = ARGV[1], tonumber(ARGV[2]), now_ms()
local budget = tonumber(ARGV[4])
local RECHECK_MS = math.max(1000, math.min(keepMs, 3600000)) -- what still lives is looked at again so much later
-- Until when a delivery must stay; nil when it may leave. One that is not made yet, or may still be sent, stays.
local function kept_until(id)
  local v = redis.call('HMGET', key(P, id), 'status', 'statusAt', 'run', 'replayId')
  if not v[1] or not terminal({ status = v[1] }) or v[3] or (v[4] and v[4] ~= '') then return now + RECHECK_MS end
  local till = tonumber(v[2]) + keepMs
  return till > now and till or nil
end
local function remove(id)
  local d = load(P, id)
  if not d then return end
  count(P, 'status:' .. label(d.destination) .. ':' .. d.status, -1)
  count(P, 'expired:' .. label(d.destination), 1)
  redis.call('ZREM', P .. 'index:' .. d.operator .. ':' .. d.status, id)
  redis.call('ZREM', P .. 'index:' .. d.operator .. ':to:' .. d.destination, id)
  redis.call('ZREM', P .. 'index:' .. d.operator .. ':from:' .. (redis.call('HGET', P .. 'event:' .. event_of(id), 'source') or ''), id)
  redis.call('ZREM', P .. 'index:' .. d.operator .. ':all', id)
  set_class(P, d, '')
  if d.status == 'dead_letter' then regroup(P, d, nil) end
  if d.status == 'resolved' then redis.call('SREM', P .. 'settled', id) end
  local reference = erp_target(d.destination) and redis.call('HGET', key(P, id), 'reference')
  local references = P .. 'references:' .. d.destination
  if reference and redis.call('HGET', references, reference) == id then redis.call('HDEL', references, reference) end
  if d.status == 'dead_letter' then shadow(P, id) end -- the sweeper takes its job away
  redis.call('ZREM', alarms(P, id), alarm_id(d))
  redis.call('DEL', key(P, id), P .. 'sample:' .. id)
end
local events, deliveries, unrouted = 0, 0, 0
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))
local left = #due
for _, event in ipairs(due) do
  if budget <= 0 then break end
  local name = P .. 'event:' .. event
  local v = redis.call('HMGET', name, 'plan', 'leaving', 'recordedAt')
  local entries = v[1] and cjson.decode(v[1]) or {}
  local from, till = tonumber(v[2]) or 0, nil
  if v[1] and from == 0 then
    if #entries == 0 and tonumber(v[3]) + keepMs > now then till = tonumber(v[3]) + keepMs end
    for _, entry in ipairs(entries) do
      budget = budget - 0.2 -- a look costs less than a removal
      till = kept_until(event .. '.' .. entry.d)
      if till then break end
    end
  end
  if till then
    redis.call('ZADD', KEYS[1], till, event)
    left = left - 1
  else
    local to = math.min(#entries, from + math.max(1, math.floor(budget)))
    for i = from + 1, to do remove(event .. '.' .. entries[i].d) end
    deliveries, budget = deliveries + to - from, budget - (to - from) - 1
    if to < #entries then redis.call('HSET', name, 'leaving', to) -- a large one leaves in steps, and until then nothing of it is made or replayed
    else
      unrouted = unrouted + redis.call('ZREM', P .. 'unrouted', event)
      redis.call('DEL', name)
      redis.call('ZREM', KEYS[1], event)
      redis.call('ZREM', P .. 'recorded', event)
      if v[1] then events = events + 1 end
      left = left - 1
    end
  end
end
return { events, deliveries, unrouted, (left > 0 or #due >= tonumber(ARGV[3])) and 1 or 0 }
