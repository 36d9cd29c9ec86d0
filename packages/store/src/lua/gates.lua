-- Gates: cap, pause, ramp and breaker of one destination, or one serial key ("<destination>/<hash>", cap 1).
-- running: delivery -> lease or reservation expiry. waiting: alarm id -> first parked at.
-- Returns free slots, why none ('paused' | 'breaker' | nil), effective cap, half-open.
local function free_slots(P, g, now)
  if string.find(g, '/', 1, true) then
    redis.call('ZREMRANGEBYSCORE', gate(P, g, 'running'), '-inf', now)
    return 1 - redis.call('ZCARD', gate(P, g, 'running')), nil, 1, false
  end
  local v = redis.call('HMGET', gate(P, g), 'cap', 'ramp', 'paused', 'openUntil', 'forced')
  if v[3] == '1' then return 0, 'paused', 0, false end
  local openUntil = tonumber(v[4]) or 0
  if v[5] == '1' or openUntil > now then return 0, 'breaker', 0, false end
  local cap, ramp = tonumber(v[1]) or 0, tonumber(v[2])
  if ramp and (cap == 0 or ramp < cap) then cap = ramp end
  if openUntil > 0 then cap = 1 end -- half-open: one probe for the whole fleet
  if cap == 0 then return 1e9, nil, 0, false end
  redis.call('ZREMRANGEBYSCORE', gate(P, g, 'running'), '-inf', now)
  return cap - redis.call('ZCARD', gate(P, g, 'running')), nil, cap, openUntil > 0
end
local function gates_of(d) if d.keyGate ~= '' then return { d.keyGate, d.destination } end return { d.destination } end
-- The first gate that does not let this delivery through, and why; nil when all do. A reservation counts as a slot, never against a pause.
local function closed_gate(P, d, now)
  local probe = false
  for _, g in ipairs(gates_of(d)) do
    local free, why, _, halfOpen = free_slots(P, g, now)
    if why then return g, why end
    local reserved = tonumber(redis.call('ZSCORE', gate(P, g, 'running'), d.id) or 0)
    if free <= 0 and reserved <= now then return g, 'cap' end
    probe = probe or halfOpen
  end
  return nil, nil, probe
end
local function gate_look_at(P, g, now, p)
  local openUntil = tonumber(redis.call('HGET', gate(P, g), 'openUntil') or 0)
  return openUntil > now and openUntil or now + p.gatePeriodMs
end
local function park(P, g, why, d, alarmId, trigger, now, p)
  for _, each in ipairs(gates_of(d)) do redis.call('ZREM', gate(P, each, 'running'), d.id) end -- gives back what a release had reserved
  if d.parkedAt == 0 then put(P, d, 'parkedAt', now) end -- else it keeps its place
  redis.call('ZADD', gate(P, g, 'waiting'), 'NX', d.parkedAt, alarmId)
  redis.call('ZADD', P .. 'gates', 'NX', gate_look_at(P, g, now, p), g)
  redis.call('ZREM', alarms(P, d.id), alarmId)
  -- Held is what the schedule waits for; a replay leaves the status alone.
  if why == 'paused' and trigger == 'schedule' and d.status ~= 'held' then put(P, d, 'heldFrom', d.status); set_status(P, d, 'held', now) end
end
local function unhold(P, d, now) if d.status == 'held' then set_status(P, d, d.heldFrom, now) end end
local function go(P, d)
  local reference = redis.call('HGET', key(P, d.id), 'reference') or ''
  return { 'go', d.run, d.runTrigger, d.scheduleMade, reference, d.doubt, d.lookupFor, d.runUntil - d.runAt, d.runProbe }
end
local function start(P, d, now, alarmId, trigger, p, token, probe)
  if trigger == 'schedule' then unhold(P, d, now) end
  if d.parkedAt > 0 then unpark(P, d, alarmId) end
  put(P, d, 'attempts', d.attempts + 1, 'run', d.attempts + 1, 'runUntil', now + p.leaseMs, 'runTrigger', trigger, 'runAt', now, 'runToken', token)
  if probe then put(P, d, 'runProbe', 1) end
  redis.call('HDEL', key(P, d.id), 'parkedAt')
  for _, g in ipairs(gates_of(d)) do redis.call('ZADD', gate(P, g, 'running'), now + p.leaseMs, d.id) end
  redis.call('ZADD', alarms(P, d.id), now + p.leaseMs + p.runGraceMs, alarmId)
  count(P, 'attempts:' .. trigger, 1)
  return go(P, d)
end
-- May this alarm start an attempt? nil when it may, else the answer. The gates are asked afterwards.
local function admit(P, d, alarmId, trigger, what, now, p, token)
  if d.run > 0 and token ~= '' and d.runToken == token then return go(P, d) end -- a resent command
  if d.run > 0 and d.runUntil <= now then close_interrupted(P, d, now, p) end
  local wanted
  if trigger == 'replay' then wanted = d.replayId == what else wanted = not terminal(d) and d.seq == what end
  if not wanted then
    redis.call('ZREM', alarms(P, d.id), alarmId)
    if trigger == 'schedule' and not terminal(d) then return { 'stale', d.status, alarm_id(d), math.max(0, d.nextAttemptAt - now) } end
    return { 'stale', d.status, '', 0 }
  end
  if d.run > 0 then return { 'busy', d.runUntil - now } end
  local notBefore = trigger == 'schedule' and d.nextAttemptAt or 0
  if d.doubt == 1 then notBefore = math.max(notBefore, d.settleAt) end -- a person's replay could look too early as well
  if notBefore > now + p.earlyMs then return { 'early', notBefore - now } end
end
-- A person's replay to an endpoint is a probe: it passes the cap. At an ERP it would break the one-at-a-time rule, so there it queues;
-- so does a bulk run's everywhere.
local function passes_gates(d, trigger) return trigger == 'replay' and d.replayRun == '' and not erp_target(d.destination) end
-- Hands free slots of gate g to waiters, oldest first. The first may be started at once (hand-off), the others get a reservation and
-- a new job id; the caller adds their jobs, and if it dies first the sweeper does. `queued` collects alarm ids.
local function release(P, g, now, defaults, handOffToken, queued)
  local started
  for _ = 1, 64 do -- bounds one script; whoever is left is found by the next end or the sweeper
    if free_slots(P, g, now) <= 0 then break end
    local m = redis.call('ZPOPMIN', gate(P, g, 'waiting'))
    if #m == 0 then redis.call('ZREM', P .. 'gates', g); break end
    local alarmId = m[1]
    local id, trigger, what = parse(alarmId)
    local d = load(P, id)
    if d then
      local p = policy_of(P, defaults, d.destination)
      local ans = admit(P, d, alarmId, trigger, what, now, p, '')
      if ans then
        if ans[1] ~= 'stale' then redis.call('ZADD', alarms(P, id), now + ans[2], alarmId) end -- busy or early: the sweeper queues it
        if ans[1] == 'stale' and ans[3] ~= '' then redis.call('ZADD', alarms(P, id), 'NX', now, ans[3]) end
      else
        local closed, why, probe = closed_gate(P, d, now)
        if closed then
          park(P, closed, why, d, alarmId, trigger, now, p)
          if closed ~= g and g == d.keyGate then break end -- one per key is enough at the destination's list: only one can run
        elseif handOffToken ~= '' and not started then
          local s = start(P, d, now, alarmId, trigger, p, handOffToken, probe)
          started = { id, alarmId, s }
        else
          if trigger == 'schedule' then unhold(P, d, now); put(P, d, 'seq', d.seq + 1); alarmId = alarm_id(d) end
          for _, each in ipairs(gates_of(d)) do redis.call('ZADD', gate(P, each, 'running'), now + p.reserveMs, id) end
          redis.call('ZADD', alarms(P, id), now + p.graceMs, alarmId)
          queued[#queued + 1] = alarmId
        end
      end
    end
  end
  return started
end

-- Breaker of an ERP target, for the whole fleet. `results` holds the last outcomes, '1' good and '0' bad; windows are counted, not timed,
-- so an ERP that hangs 30 s a call opens it too. While open, only the probe's result moves it.
local function open_breaker(P, g, now, backoffMs)
  redis.call('HSET', gate(P, g), 'openUntil', now + backoffMs, 'backoffMs', backoffMs, 'openedAt', now)
  redis.call('HDEL', gate(P, g), 'results', 'consecutive')
  redis.call('ZADD', P .. 'gates', now + backoffMs, g)
  for _, id in ipairs(redis.call('ZRANGE', gate(P, g, 'running'), 0, -1)) do -- a slot that was only reserved must not slip through as a second probe
    if not redis.call('HGET', key(P, id), 'run') then
      redis.call('ZREM', gate(P, g, 'running'), id)
      local keyGate = redis.call('HGET', key(P, id), 'keyGate')
      if keyGate then redis.call('ZREM', gate(P, keyGate, 'running'), id) end
    end
  end
end
local function close_breaker(P, g)
  redis.call('HDEL', gate(P, g), 'openUntil', 'backoffMs', 'openedAt', 'results', 'consecutive', 'forced')
  redis.call('HSET', gate(P, g), 'ramp', 1) -- not a burst: one slot, each success gives one more
end
local function judge(P, d, now, b, good)
  local g = gate(P, d.destination)
  local v = redis.call('HMGET', g, 'openUntil', 'backoffMs', 'results', 'consecutive')
  if v[1] then
    if d.runProbe ~= 1 then return end -- began before it opened: says nothing about now
    if good then close_breaker(P, d.destination)
    else open_breaker(P, d.destination, now, math.min((tonumber(v[2]) or b.fromMs) * 2, b.toMs)) end
    return
  end
  local results = string.sub((v[3] or '') .. (good and '1' or '0'), -b.window)
  local consecutive = good and 0 or (tonumber(v[4]) or 0) + 1
  local _, bad = string.gsub(results, '0', '')
  if consecutive >= b.consecutive or (#results >= b.window and bad * 100 > b.percentage * #results) then
    open_breaker(P, d.destination, now, b.fromMs)
  else
    redis.call('HSET', g, 'results', results, 'consecutive', consecutive)
  end
end
-- Postings are counted once per creating answer, so that a double shows. A document that only a look-up revealed counts as one; when
-- its creating answer turns up late, it explains the find and is not counted again. What a person had resolved is owed again.
local function count_posting(P, d, outcome)
  local target = erp_target(d.destination)
  if outcome ~= 'posted' and outcome ~= 'already_posted' then return end
  local known = d.created + d.found
  if known == 0 and d.status == 'resolved' then count(P, 'resolved:' .. target, -1) end
  if outcome == 'posted' then
    put(P, d, 'created', d.created + 1)
    if d.found == 1 and d.created == 1 then return end
  else
    if known > 0 then return end
    put(P, d, 'found', 1)
  end
  count(P, 'postings:' .. target, 1)
end
