-- Shared by every script of the delivery record; loaded in front of each, before gates.lua. The state machine is drawn in ARCHITECTURE.md.
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
  'runToken', 'runProbe', 'replayId', 'lastReplayId', 'interruptions', 'heldFrom', 'parkedAt', 'doubt', 'settleAt', 'restartSeq', 'lookupFor',
  'lookups', 'created', 'found', 'createdAt', 'class', 'replayRun' }
local TEXTS = { status = 1, operator = 1, keyGate = 1, runTrigger = 1, runToken = 1, replayId = 1, lastReplayId = 1, heldFrom = 1, lookupFor = 1, class = 1, replayRun = 1 }
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
-- Dead letters of an operator by destination and class: an index of each group, and how many it holds, so that they are read and never
-- counted. `at`: since when it is dead; nil takes it out.
local function regroup(P, d, at)
  local group = d.destination .. ':' .. d.class
  local index, groups = P .. 'index:' .. d.operator .. ':dead:' .. group, P .. 'dead-groups:' .. d.operator
  if at then redis.call('ZADD', index, at, d.id) else redis.call('ZREM', index, d.id) end
  local size = redis.call('ZCARD', index)
  if size > 0 then redis.call('ZADD', groups, size, group) else redis.call('ZREM', groups, group) end
end
local OPEN = { pending = true, failed = true, held = true }
-- The only place where a status changes: record, ledger and indexes in one step.
local function set_status(P, d, to, now)
  if d.status == to then return end
  if not OPEN[to] then redis.call('ZREM', P .. 'open:' .. label(d.destination), d.id)
  elseif not OPEN[d.status] then redis.call('ZADD', P .. 'open:' .. label(d.destination), redis.call('HGET', key(P, d.id), 'createdAt') or now, d.id) end
  if d.status == 'resolved' then redis.call('SREM', P .. 'settled', d.id) end
  local l = 'status:' .. label(d.destination) .. ':'
  count(P, l .. d.status, -1)
  count(P, l .. to, 1)
  redis.call('ZREM', P .. 'index:' .. d.operator .. ':' .. d.status, d.id)
  redis.call('ZADD', P .. 'index:' .. d.operator .. ':' .. to, now, d.id)
  if d.status == 'dead_letter' or to == 'dead_letter' then
    shadow(P, d.id)
    regroup(P, d, to == 'dead_letter' and now or nil)
  end
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
  redis.call('ZREM', gate(P, 'retries', 'waiting'), alarmId)
end
-- Of a serial key: those that never began, by acceptance. Whoever of them meets an open gate lets an earlier one go first.
local function leave_line(P, d) if d.keyGate ~= '' then redis.call('ZREM', gate(P, d.keyGate, 'line'), d.id) end end
local function disarm(P, d)
  leave_line(P, d)
  redis.call('ZREM', alarms(P, d.id), alarm_id(d))
  unpark(P, d, alarm_id(d))
  put(P, d, 'seq', d.seq + 1, 'nextAttemptAt', 0)
end
-- A bulk run that has ended leaves a month later; what it had not asked for yet waits as long for a person to resume it.
local RUN_KEEP_MS = 30 * 86400000
local function stop_run(P, run, state, why, now)
  local name = P .. 'replay-run:' .. run
  redis.call('HSET', name, 'state', state, 'error', why, 'updatedAt', now)
  redis.call('ZREM', P .. 'replay-active', run)
  for _, part in ipairs({ '', ':ids', ':notes' }) do redis.call('PEXPIRE', name .. part, RUN_KEEP_MS) end
end
-- Bulk runs of an operator that are under way, when they are as many as there may be: each takes a share of the slots from others.
local function too_many_runs(P, operator, atMost)
  local theirs = {}
  for _, run in ipairs(redis.call('ZRANGE', P .. 'replay-active', 0, -1)) do
    local v = redis.call('HMGET', P .. 'replay-run:' .. run, 'operator', 'state')
    if v[1] == operator and v[2] == 'running' then theirs[#theirs + 1] = run end
  end
  return #theirs >= atMost and theirs
end
local RUN_NOTES = 200 -- enough to see what goes wrong; the counts are complete
local function note_run(P, run, text)
  local notes = P .. 'replay-run:' .. run .. ':notes'
  if redis.call('LLEN', notes) < RUN_NOTES then redis.call('RPUSH', notes, text) end
end
local function settle_run(P, run, now)
  local name = P .. 'replay-run:' .. run
  local v = redis.call('HMGET', name, 'state', 'requested', 'sent', 'failed')
  if v[1] ~= 'running' or tonumber(v[2]) > tonumber(v[3]) + tonumber(v[4]) then return end
  if redis.call('EXISTS', name .. ':ids') == 0 then stop_run(P, run, 'done', '', now) end
end
-- A delivery that a bulk run asked for tells the run what came of it, once: 'sent' or 'failed'. A run that meets failures alone stops
-- itself: the receiver is still ill, and whoever is asleep would find the rest tried in vain.
local function leave_run(P, d, result, why, now)
  local run = d.replayRun
  if run == '' then return end
  redis.call('HDEL', key(P, d.id), 'replayRun')
  d.replayRun = ''
  local name = P .. 'replay-run:' .. run
  if redis.call('EXISTS', name) == 0 then return end
  redis.call('HINCRBY', name, result, 1)
  redis.call('HSET', name, 'updatedAt', now)
  if result == 'sent' then redis.call('HSET', name, 'inARow', 0)
  else
    note_run(P, run, 'failed|' .. why .. '|' .. d.id)
    local failures, v = redis.call('HINCRBY', name, 'inARow', 1), redis.call('HMGET', name, 'state', 'stopAfter')
    local limit = tonumber(v[2]) or 0
    if v[1] == 'running' and limit > 0 and failures >= limit and redis.call('EXISTS', name .. ':ids') == 1 then
      local reason = failures .. ' replays in a row failed'
      stop_run(P, run, 'failed', reason, now)
      return redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'replays.fail', 'operator', d.operator, 'actor', 'breakwater', 'replay', run, 'reason', reason)
    end
  end
  settle_run(P, run, now)
end
local function drop_replay(P, d, now, why)
  if d.replayId == '' then return end
  leave_run(P, d, 'failed', why or 'dropped', now)
  redis.call('ZREM', alarms(P, d.id), d.id .. '-r' .. d.replayId)
  unpark(P, d, d.id .. '-r' .. d.replayId)
  put(P, d, 'replayId', '')
end
-- The index of why a delivery is not there: the class of its latest attempt, none after a success. Ordered by creation, so that a list
-- of one class stays in order while its deliveries are tried again.
local SUCCESS = { sent = 1, posted = 1, already_posted = 1 }
local function set_class(P, d, class)
  if SUCCESS[class] then class = '' end
  if d.class == class then return end
  local index = P .. 'index:' .. d.operator .. ':why:'
  if d.class ~= '' then redis.call('ZREM', index .. d.class, d.id) end
  if class ~= '' then redis.call('ZADD', index .. class, d.createdAt, d.id) end
  if d.status == 'dead_letter' then regroup(P, d, nil) end
  put(P, d, 'class', class)
  if d.status == 'dead_letter' then regroup(P, d, redis.call('HGET', key(P, d.id), 'statusAt')) end
end
-- Appended, never rewritten: HSETNX. At most 64 bytes, else the hash leaves its compact encoding (522 B -> 2.1 KB).
local function append_attempt(P, d, now, class, code)
  local due = d.runTrigger == 'schedule' and d.nextAttemptAt > 0 and d.nextAttemptAt or d.runAt -- a replay has no time of its own to be late for
  local row = string.sub(d.runTrigger, 1, 1) .. '|' .. d.runAt .. '|' .. math.max(0, d.runAt - due) .. '|' .. (now - d.runAt) .. '|' .. class .. '|' .. code
  redis.call('HSETNX', key(P, d.id), 'a' .. d.run, string.sub(row, 1, 64))
  set_class(P, d, class)
end
-- What a destination answered, by the hour, for the hours of a day: '<hour>:<good>:<bad>' in a ring. It leaves by itself.
local HOUR_MS, RING = 3600000, 24
local function note_answer(P, destination, now, good)
  local name, hour = P .. 'recent:' .. destination, math.floor(now / HOUR_MS)
  local slot = 'h' .. hour % RING
  local at, sent, failed = string.match(redis.call('HGET', name, slot) or '', '^(%d+):(%d+):(%d+)$')
  if tonumber(at) ~= hour then
    sent, failed = 0, 0
    redis.call('HSET', name, slot, hour .. ':0:0')
    redis.call('PEXPIRE', name, (RING + 1) * HOUR_MS)
  end
  redis.call('HSET', name, slot, hour .. ':' .. (sent + (good and 1 or 0)) .. ':' .. (failed + (good and 0 or 1)))
end
local function clear_run(P, d)
  redis.call('HDEL', key(P, d.id), 'run', 'runUntil', 'runTrigger', 'runAt', 'runToken', 'runProbe')
  redis.call('ZREM', gate(P, d.destination, 'running'), d.id)
  if d.keyGate ~= '' then redis.call('ZREM', gate(P, d.keyGate, 'running'), d.id) end
  d.leftLane = redis.call('ZREM', gate(P, 'retries', 'running'), d.id) == 1
  d.run = 0; d.runTrigger = ''
end
-- An attempt that is in flight when its delivery is settled otherwise must still be closed should its process die: the sweeper looks
-- when its lease is over, under a name that no job has.
local function watch_run(P, d) if d.run > 0 then redis.call('ZADD', alarms(P, d.id), d.runUntil, alarm_id(d)) end end
local function unwatch_run(P, d) redis.call('ZREM', alarms(P, d.id), alarm_id(d)) end
local function mark_sent(P, d, now, attempt)
  set_class(P, d, '')
  leave_run(P, d, 'sent', '', now)
  disarm(P, d); drop_replay(P, d, now) -- a replay asked for before this success is moot: nobody acknowledged a second send
  watch_run(P, d)
  put(P, d, 'sentAt', now, 'sentBy', attempt, 'doubt', 0, 'lookupFor', '')
  set_status(P, d, 'sent', now)
end
local function bury(P, d, now, reason)
  if d.replayId == '' then leave_run(P, d, 'failed', reason, now) end -- its schedule was begun again, and is over
  disarm(P, d)
  put(P, d, 'reason', reason, 'lookupFor', '')
  set_status(P, d, 'dead_letter', now)
end
local function removed(P, destination) return redis.call('HGET', gate(P, destination), 'removed') == '1' end
-- Ends whatever is planned for a delivery whose endpoint was removed. True when that made a dead letter of it.
local function close_removed(P, d, now)
  drop_replay(P, d, now)
  local open = not terminal(d)
  if open then bury(P, d, now, 'endpoint_removed') end
  watch_run(P, d)
  return open
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
-- It may have been applied, or may yet be: until settleAt a look-up would prove nothing. doubtAt is when that began: a delivery that is
-- tried again and again without an answer is no less in doubt for its latest attempt.
local function doubt(P, d, now, p)
  if d.doubt == 0 then put(P, d, 'doubtAt', now) end
  put(P, d, 'doubt', 1, 'settleAt', now + p.settleMs)
end
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
    drop_replay(P, d, now)
    if not terminal(d) then bury(P, d, now, 'unknown_outcome') end
    return
  end
  if d.interruptions <= p.freeInterruptions then
    if trigger == 'schedule' and not terminal(d) then arm(P, d, now + p.settleMs, now + p.settleMs) end
    return
  end
  if trigger == 'replay' then drop_replay(P, d, now)
  elseif not terminal(d) then
    if d.lookupFor ~= '' then retry_in(P, d, now, p, p.settleMs) else schedule_failed(P, d, now, p, p.settleMs) end
  end
end
