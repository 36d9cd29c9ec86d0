-- Gates: cap, pause, ramp, rate and breaker of one destination; or one serial key ("<destination>/<hash>", cap 1); or the lane of retries.
-- running: delivery -> lease or reservation expiry. waiting: alarm id -> first parked at. line (of a key): see leave_line.

-- All that was tried before at any endpoint shares this gate, so that slow retries never take the workers' last slots from first attempts.
local LANE = 'retries'
local function in_lane(d) return d.attempts > 0 and not erp_target(d.destination) end
local function count_free(P, g, now, cap)
  redis.call('ZREMRANGEBYSCORE', gate(P, g, 'running'), '-inf', now)
  return cap - redis.call('ZCARD', gate(P, g, 'running'))
end
-- Rate: GCRA. `tat` is when the bucket is full again; it never runs further ahead than the burst, so a clock that was set back heals.
local function bucket(perS, burst, tat, now)
  local interval = 1000 / perS
  local size = (tonumber(burst) or math.max(1, math.ceil(perS))) * interval
  return interval, math.max(now, math.min(tonumber(tat) or 0, now + size)), size
end
local function rate_wait(v, now) -- v: rate_per_s, rate_burst, tat. ms until the next attempt may begin; 0: now
  local perS = tonumber(v[1])
  if not perS then return 0 end
  local interval, tat, size = bucket(perS, v[2], v[3], now)
  return math.max(0, math.ceil(tat + interval - size - now))
end
local function take_token(P, g, now)
  local v = redis.call('HMGET', gate(P, g), 'rate_per_s', 'rate_burst', 'tat')
  local perS = tonumber(v[1])
  if not perS then return end
  local interval, tat = bucket(perS, v[2], v[3], now)
  redis.call('HSET', gate(P, g), 'tat', string.format('%.3f', tat + interval))
end
-- Returns free slots, why none ('paused' | 'breaker' | nil), effective cap, half-open, ms until the rate lets one through.
local function free_slots(P, g, now, p)
  if g == LANE then return count_free(P, g, now, p.retriesInFlight), nil, p.retriesInFlight, false, 0 end
  if string.find(g, '/', 1, true) then return count_free(P, g, now, 1), nil, 1, false, 0 end
  local v = redis.call('HMGET', gate(P, g), 'rate_per_s', 'rate_burst', 'tat', 'cap', 'ramp', 'paused', 'openUntil', 'forced')
  if v[6] == '1' then return 0, 'paused', 0, false, 0 end
  local openUntil = tonumber(v[7]) or 0
  if v[8] == '1' or openUntil > now then return 0, 'breaker', 0, false, 0 end
  local wait = rate_wait(v, now)
  local cap, ramp = tonumber(v[4]) or 0, tonumber(v[5])
  if ramp and (cap == 0 or ramp < cap) then cap = ramp end
  if openUntil > 0 then cap = 1 end -- half-open: one probe for the whole fleet
  if cap == 0 then return 1e9, nil, 0, false, wait end
  return count_free(P, g, now, cap), nil, cap, openUntil > 0, wait
end
local function gates_of(d)
  local gates = { d.destination }
  if d.keyGate ~= '' then table.insert(gates, 1, d.keyGate) end
  if in_lane(d) then gates[#gates + 1] = LANE end
  return gates
end
-- Is there one of the same key that was accepted earlier and has not begun? Its own alarm rings, or it waits at a gate and is called.
local function is_behind(P, d)
  local line = d.keyGate ~= '' and gate(P, d.keyGate, 'line')
  if not line or not redis.call('ZSCORE', line, d.id) then return false end
  for _ = 1, 64 do
    local first = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')
    if not first[1] or first[1] == d.id or tonumber(first[2]) >= d.parkedAt then return false end
    local status = redis.call('HGET', key(P, first[1]), 'status')
    if status == 'pending' or status == 'held' then return true end
    redis.call('ZREM', line, first[1]) -- nothing comes of it any more
  end
  return false
end
-- The first gate that does not let this delivery through, and why; nil when all do. A reservation counts as a slot and as the rate's
-- token, never against a pause. The one that asks whether a paused endpoint works again (pauses.lua) passes the pause.
local function closed_gate(P, d, now, p)
  local probe = false
  for _, g in ipairs(gates_of(d)) do
    local free, why, _, halfOpen, wait = free_slots(P, g, now, p)
    local asks = why == 'paused' and redis.call('HGET', gate(P, g), 'probe') == d.id
    if why and not asks then return g, why end
    if not asks and (free <= 0 or wait > 0) and (tonumber(redis.call('ZSCORE', gate(P, g, 'running'), d.id) or 0)) <= now then
      return g, free <= 0 and 'cap' or 'rate'
    end
    probe = probe or halfOpen or asks
  end
  if is_behind(P, d) then return d.keyGate, 'cap' end
  return nil, nil, probe
end
local function gate_look_at(P, g, now, p)
  local v = redis.call('HMGET', gate(P, g), 'rate_per_s', 'rate_burst', 'tat', 'openUntil', 'paused')
  local openUntil = tonumber(v[4]) or 0
  if openUntil > now then return openUntil end
  local wait = v[5] ~= '1' and rate_wait(v, now) or 0
  return now + (wait > 0 and math.min(wait, p.gatePeriodMs) or p.gatePeriodMs)
end
-- What meets a pause, or waits when one comes. The schedule is held; a person's replay waits, and leaves the status alone. A bulk run's
-- is given up, as the run would be refused at that gate now: held for days, its few open ones would stop it for all other destinations.
-- Where the run had begun the schedule again, the schedule is held like any other, and the run does not wait for it.
local function hold(P, d, trigger, now)
  if trigger == 'replay' then
    if d.replayRun ~= '' then drop_replay(P, d, now, 'paused') end
    return
  end
  if d.status == 'held' then return end
  if d.replayId == '' then leave_run(P, d, 'failed', 'paused', now) end
  put(P, d, 'heldFrom', d.status)
  set_status(P, d, 'held', now)
end
local function park(P, g, why, d, alarmId, trigger, now, p)
  for _, each in ipairs(gates_of(d)) do redis.call('ZREM', gate(P, each, 'running'), d.id) end -- gives back what a release had reserved
  if d.parkedAt == 0 then put(P, d, 'parkedAt', now) end -- else it keeps its place
  redis.call('ZADD', gate(P, g, 'waiting'), 'NX', d.parkedAt, alarmId)
  redis.call('ZADD', P .. 'gates', 'LT', gate_look_at(P, g, now, p), g)
  redis.call('ZREM', alarms(P, d.id), alarmId)
  if why == 'paused' then hold(P, d, trigger, now) end
end
local function unhold(P, d, now) if d.status == 'held' then set_status(P, d, d.heldFrom, now) end end
local function go(P, d)
  local reference = redis.call('HGET', key(P, d.id), 'reference') or ''
  local bodyBytes = redis.call('HSTRLEN', P .. 'event:' .. event_of(d.id), 'body')
  return { 'go', d.run, d.runTrigger, d.scheduleMade, reference, d.doubt, d.lookupFor, d.runUntil - d.runAt, d.runProbe, bodyBytes }
end
-- Takes the slots for a delivery until `untilMs`, and the rate's token unless a reservation has taken it already.
local function occupy(P, d, now, untilMs)
  if (tonumber(redis.call('ZSCORE', gate(P, d.destination, 'running'), d.id) or 0)) <= now then take_token(P, d.destination, now) end
  for _, g in ipairs(gates_of(d)) do redis.call('ZADD', gate(P, g, 'running'), untilMs, d.id) end
end
local function start(P, d, now, alarmId, trigger, p, token, probe)
  if trigger == 'schedule' then unhold(P, d, now) end
  if d.parkedAt > 0 then unpark(P, d, alarmId) end
  leave_line(P, d)
  occupy(P, d, now, now + p.leaseMs)
  put(P, d, 'attempts', d.attempts + 1, 'run', d.attempts + 1, 'runUntil', now + p.leaseMs, 'runTrigger', trigger, 'runAt', now, 'runToken', token)
  if probe then put(P, d, 'runProbe', 1) -- who asks for all keeps the place in the line until there is an answer
  elseif d.keyGate == '' then redis.call('HDEL', key(P, d.id), 'parkedAt') end -- a key keeps to the order of acceptance
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
    if terminal(d) then watch_run(P, d) end -- a job of that very name may ring; whether the attempt died is looked at all the same
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
-- Keeps the slots of a delivery for its job, under a new job id.
local function reserve(P, d, now, alarmId, trigger, p, queued)
  if trigger == 'schedule' then unhold(P, d, now); put(P, d, 'seq', d.seq + 1); alarmId = alarm_id(d) end
  occupy(P, d, now, now + p.reserveMs)
  redis.call('ZADD', alarms(P, d.id), now + p.graceMs, alarmId)
  queued[#queued + 1] = alarmId
end
-- Hands free slots of gate g to waiters, oldest first. The first may be started at once (hand-off), the others get a reservation and
-- a new job id; the caller adds their jobs, and if it dies first the sweeper does. `queued` collects alarm ids.
local RELEASED = 64 -- bounds one script; whoever is left is found by the next end or the sweeper
local function release(P, g, now, defaults, handOffToken, queued)
  local started
  local own = g ~= LANE and policy_of(P, defaults, string.match(g, '^[^/]+')) -- who waits elsewhere all goes to one destination
  local lookAt = now
  for _ = 1, RELEASED do
    local free, why, _, _, wait = free_slots(P, g, now, defaults)
    if why or free <= 0 then lookAt = nil; break end -- the end of an attempt, a resume or a probe comes back to it
    if wait > 0 then lookAt = now + wait; break end
    local m = redis.call('ZPOPMIN', gate(P, g, 'waiting'))
    if #m == 0 then redis.call('ZREM', P .. 'gates', g); lookAt = nil; break end
    local alarmId = m[1]
    local id, trigger, what = parse(alarmId)
    local d = load(P, id)
    if d then
      local p = own or policy_of(P, defaults, d.destination)
      local ans = admit(P, d, alarmId, trigger, what, now, p, '')
      if ans then
        if ans[1] ~= 'stale' then -- busy (with a replay) or early: the sweeper queues it, and it is held no more
          if trigger == 'schedule' then unhold(P, d, now) end
          redis.call('ZADD', alarms(P, id), now + ans[2], alarmId)
        end
        if ans[1] == 'stale' and ans[3] ~= '' then redis.call('ZADD', alarms(P, id), 'NX', now, ans[3]) end
      else
        local closed, reason, probe = closed_gate(P, d, now, p)
        if closed then
          park(P, closed, reason, d, alarmId, trigger, now, p)
          -- One per key is enough at the destination's list: only one can run. One is enough at a lane that is full, too.
          if g == d.keyGate or (closed ~= g and closed == LANE) then lookAt = nil; break end
        elseif handOffToken ~= '' and not started then
          local s = start(P, d, now, alarmId, trigger, p, handOffToken, probe)
          started = { id, alarmId, s }
        else
          reserve(P, d, now, alarmId, trigger, p, queued)
        end
      end
    end
  end
  if lookAt then redis.call('ZADD', P .. 'gates', 'XX', 'LT', lookAt, g) end
  return started
end
