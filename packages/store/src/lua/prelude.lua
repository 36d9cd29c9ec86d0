-- Shared by every script of the delivery record; loaded in front of each. The state machine is drawn in ARCHITECTURE.md.
-- P = key prefix "{bw:<shard>}:". All times are ms of Redis' own clock. p = policy (see store/src/policy.ts).
-- Commands that a client sent twice (ioredis resends after a reconnect) must find their own work and change nothing.
local function now_ms() local t = redis.call('TIME'); return t[1] * 1000 + math.floor(t[2] / 1000) end
local function key(P, id) return P .. 'delivery:' .. id end
local function gate(P, g, part) return P .. 'gate:' .. g .. (part and (':' .. part) or '') end
local function destination_of(id) return string.sub(id, string.find(id, '.', 1, true) + 1) end
local function event_of(id) return string.sub(id, 1, string.find(id, '.', 1, true) - 1) end
local function erp_target(destination) if string.sub(destination, 1, 4) == 'erp_' then return string.sub(destination, 5) end end
local function label(destination) return erp_target(destination) or 'endpoint' end
local function alarms(P, id) return P .. 'alarms:' .. (erp_target(destination_of(id)) and 'erp' or 'deliveries') end
-- alarm id = BullMQ job id: "<delivery>-<seq>" (schedule) or "<delivery>-r<replayId>". The last dash separates.
local function parse(alarmId)
  local id, tail = string.match(alarmId, '^(.+)%-([^%-]+)$')
  if string.sub(tail, 1, 1) == 'r' then return id, 'replay', string.sub(tail, 2) end
  return id, 'schedule', tonumber(tail)
end
local FIELDS = { 'status', 'operator', 'keyGate', 'seq', 'nextAttemptAt', 'scheduleMade', 'attempts', 'run', 'runUntil', 'runTrigger', 'runAt',
  'runToken', 'runProbe', 'replayId', 'lastReplayId', 'interruptions', 'heldFrom', 'parkedAt', 'doubt', 'settleAt', 'lookupFor',
  'lookups', 'created', 'found' }
local TEXTS = { status = 1, operator = 1, keyGate = 1, runTrigger = 1, runToken = 1, replayId = 1, lastReplayId = 1, heldFrom = 1, lookupFor = 1 }
local function load(P, id)
  local v = redis.call('HMGET', key(P, id), unpack(FIELDS))
  if not v[1] then return nil end
  local d = { id = id, destination = destination_of(id) }
  for i, f in ipairs(FIELDS) do if TEXTS[f] then d[f] = v[i] or '' else d[f] = tonumber(v[i]) or 0 end end
  return d
end
local function put(P, d, ...) -- writes the fields and keeps the loaded copy in step
  local a = { ... }
  for i = 1, #a, 2 do d[a[i]] = a[i + 1] end
  redis.call('HSET', key(P, d.id), ...)
end
-- A destination's own settings (store/src/policy.ts, DestinationPolicy) win over the deployment's.
local function policy_of(P, p, destination)
  local own = redis.call('HGET', gate(P, destination), 'policy')
  if not own then return p end
  local merged = cjson.decode(own)
  for k, v in pairs(p) do if merged[k] == nil then merged[k] = v end end
  return merged
end
local function terminal(d) return d.status == 'sent' or d.status == 'dead_letter' or d.status == 'resolved' end
local function count(P, field, by) redis.call('HINCRBY', P .. 'ledger', field, by) end
-- The shadow job in the dead-letters queue is brought into line by the sweeper; the number tells a change from a later one.
local function shadow(P, id) redis.call('ZADD', P .. 'shadows', redis.call('HINCRBY', P .. 'ledger', 'shadows', 1), id) end
-- The only place where a status changes: record, ledger and index in one step.
local function set_status(P, d, to, now)
  if d.status == to then return end
  local l = 'status:' .. label(d.destination) .. ':'
  count(P, l .. d.status, -1)
  count(P, l .. to, 1)
  redis.call('ZREM', P .. 'index:' .. d.operator .. ':' .. d.status, d.id)
  redis.call('ZADD', P .. 'index:' .. d.operator .. ':' .. to, now, d.id)
  if d.status == 'dead_letter' or to == 'dead_letter' then shadow(P, d.id) end
  put(P, d, 'status', to, 'statusAt', now)
end
local function alarm_id(d) return d.id .. '-' .. d.seq end
-- A new seq makes every older job stale, and a job id that BullMQ has never seen cannot be swallowed as a duplicate.
local function arm(P, d, at, lookAt)
  redis.call('ZREM', alarms(P, d.id), alarm_id(d))
  put(P, d, 'seq', d.seq + 1, 'nextAttemptAt', at)
  redis.call('ZADD', alarms(P, d.id), lookAt, alarm_id(d))
end
-- An alarm may also be parked, so it is looked for in the waiting lists too: a list must not keep the name of a finished delivery.
local function unpark(P, d, alarmId)
  redis.call('ZREM', gate(P, d.destination, 'waiting'), alarmId)
  if d.keyGate ~= '' then redis.call('ZREM', gate(P, d.keyGate, 'waiting'), alarmId) end
end
local function disarm(P, d)
  redis.call('ZREM', alarms(P, d.id), alarm_id(d))
  unpark(P, d, alarm_id(d))
  put(P, d, 'seq', d.seq + 1, 'nextAttemptAt', 0)
end
local function drop_replay(P, d)
  if d.replayId == '' then return end
  redis.call('ZREM', alarms(P, d.id), d.id .. '-r' .. d.replayId)
  unpark(P, d, d.id .. '-r' .. d.replayId)
  put(P, d, 'replayId', '')
end
-- Appended, never rewritten: HSETNX. At most 64 bytes, else the hash leaves its compact encoding (522 B -> 2.1 KB).
local function append_attempt(P, d, now, class, code)
  local row = string.sub(d.runTrigger, 1, 1) .. '|' .. d.runAt .. '|' .. math.max(0, d.runAt - d.nextAttemptAt) .. '|' .. (now - d.runAt) .. '|' .. class .. '|' .. code
  redis.call('HSETNX', key(P, d.id), 'a' .. d.run, string.sub(row, 1, 64))
end
local function clear_run(P, d)
  redis.call('HDEL', key(P, d.id), 'run', 'runUntil', 'runTrigger', 'runAt', 'runToken', 'runProbe')
  redis.call('ZREM', gate(P, d.destination, 'running'), d.id)
  if d.keyGate ~= '' then redis.call('ZREM', gate(P, d.keyGate, 'running'), d.id) end
  d.run = 0; d.runTrigger = ''
end
-- An attempt that is in flight when its delivery is settled otherwise must still be closed should its process die: the sweeper looks
-- when its lease is over, under a name that no job has.
local function watch_run(P, d) if d.run > 0 then redis.call('ZADD', alarms(P, d.id), d.runUntil, alarm_id(d)) end end
local function unwatch_run(P, d) redis.call('ZREM', alarms(P, d.id), alarm_id(d)) end
local function mark_sent(P, d, now, attempt)
  disarm(P, d); drop_replay(P, d) -- a replay asked for before this success is moot: nobody acknowledged a second send
  watch_run(P, d)
  put(P, d, 'sentAt', now, 'sentBy', attempt, 'doubt', 0, 'lookupFor', '')
  set_status(P, d, 'sent', now)
end
local function bury(P, d, now, reason)
  disarm(P, d)
  put(P, d, 'reason', reason, 'lookupFor', '')
  set_status(P, d, 'dead_letter', now)
end
-- lookAt of a wait that is armed late: the sweeper adds the job when half of armAheadMs is left.
local function look_at(p, now, wait)
  if p.armAheadMs > 0 and wait > p.armAheadMs then return now + wait - math.floor(p.armAheadMs / 2) end
  return now + wait + p.graceMs
end
local function retry_in(P, d, now, p, wait)
  arm(P, d, now + wait, look_at(p, now, wait))
  set_status(P, d, 'failed', now)
end
-- Nothing that may be at the ERP is dead-lettered before a look-up has answered. Look-ups are repeated until one does, with growing
-- waits; an ERP that is down meanwhile is the breaker's business.
local function bury_after_lookup(P, d, now, p, reason)
  if d.doubt == 0 or not p.canFind then return bury(P, d, now, reason) end
  put(P, d, 'lookupFor', reason, 'lookups', 0)
  retry_in(P, d, now, p, p.settleMs)
end
local function schedule_failed(P, d, now, p, atLeastMs)
  put(P, d, 'scheduleMade', d.scheduleMade + 1)
  local wait = p.scheduleMs[d.scheduleMade + 1]
  if not wait then return bury_after_lookup(P, d, now, p, 'exhausted') end
  if p.jitterMs > 0 then math.randomseed(now + d.scheduleMade); wait = wait + math.random(0, p.jitterMs) end
  retry_in(P, d, now, p, math.max(wait, atLeastMs or 0))
end
-- It may have been applied, or may yet be: until settleAt a look-up would prove nothing.
local function doubt(P, d, now, p) put(P, d, 'doubt', 1, 'settleAt', now + p.settleMs) end
-- After an attempt whose outcome is not known. An ERP that can neither look up nor dedupe must never be posted to again blindly.
local function outcome_unknown(P, d, now, p)
  if not erp_target(d.destination) then return false end
  doubt(P, d, now, p)
  return not p.canFind and not p.dedupes
end
-- The process of attempt d.run died, or was stopped past its lease. Free of charge `freeInterruptions` times, so that a crash loop
-- ends in dead_letter and a deploy costs nothing. A scheduled attempt is repeated under a new job id, since the dead worker's job may
-- hold the old one until BullMQ's stall check.
local function close_interrupted(P, d, now, p)
  append_attempt(P, d, now, 'interrupted', '')
  count(P, 'interrupted', 1)
  local trigger = d.runTrigger
  clear_run(P, d)
  put(P, d, 'interruptions', d.interruptions + 1)
  if outcome_unknown(P, d, now, p) then
    drop_replay(P, d)
    if not terminal(d) then bury(P, d, now, 'unknown_outcome') end
    return
  end
  if d.interruptions <= p.freeInterruptions then
    if trigger == 'schedule' and not terminal(d) then arm(P, d, now + p.settleMs, now + p.settleMs) end
    return
  end
  if trigger == 'replay' then drop_replay(P, d)
  elseif not terminal(d) then
    if d.lookupFor ~= '' then retry_in(P, d, now, p, p.settleMs) else schedule_failed(P, d, now, p, p.settleMs) end
  end
end

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
-- A person's replay to an endpoint is a probe: it passes the cap. At an ERP it would break the one-at-a-time rule, so there it queues.
local function passes_gates(d, trigger) return trigger == 'replay' and not erp_target(d.destination) end
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
