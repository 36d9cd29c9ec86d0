-- Records what came of an attempt and everything that follows from it, in one step.
-- KEYS[1] delivery record
-- ARGV prefix, policy, delivery id, alarm id, attempt, outcome, class, code, retryAfterMs or '', hand-off token or '', receipt or ''
--      outcome: sent | gone | failed | posted | already_posted | rejected | unknown | reference_conflict | absent | deferred
-- Returns {'done'|'late'|'missing', status, alarm id to arm or '', waitMs, hand-off as JSON [delivery, alarm id, go] or '',
--          'paused'|'resumed' when this result did that to its endpoint, else '', alarm ids to add ...}
local P, defaults, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local id, alarmId, attempt = ARGV[3], ARGV[4], tonumber(ARGV[5])
local outcome, class, code, receipt = ARGV[6], ARGV[7], ARGV[8], ARGV[11]
local d = load(P, id)
if not d then return { 'missing', '', '', 0, '', '' } end
local p = policy_of(P, defaults, d.destination)
local success = outcome == 'sent' or outcome == 'posted' or outcome == 'already_posted'
local moved = ''
local function next_alarm()
  if d.status == 'failed' or d.status == 'pending' then return alarm_id(d), math.max(0, d.nextAttemptAt - now) end
  return '', 0
end
local function answer(kind, handOff, queued)
  local armed, wait = next_alarm()
  return { kind, d.status, kind == 'done' and armed or '', wait, handOff or '', moved, unpack(queued or {}) }
end
-- What this very command started when it came for the first time: its answer was lost, and nobody works on it yet. Without it the
-- slot, and with it a whole serial key, would stand still for the length of a lease.
local function handed_on(token)
  local handOff = token ~= '' and redis.call('GET', P .. 'handoff:' .. token)
  if not handOff then return '' end
  local other = load(P, cjson.decode(handOff)[1])
  return other and other.run > 0 and other.runToken == token and handOff or ''
end
if d.run ~= attempt then
  local logged = redis.call('HGET', key(P, id), 'a' .. attempt)
  if outcome == 'deferred' or (logged and not string.find(logged, '|interrupted|', 1, true)) then return answer('done', handed_on(ARGV[10])) end -- a resent command
  if redis.call('HSETNX', key(P, id), 'l' .. attempt, now .. '|' .. class .. '|' .. code) == 0 then return answer('late') end
  note_answer(P, d.destination, now, success)
  if success then -- a delivered fact counts, whenever it is learnt
    count_posting(P, d, outcome)
    if receipt ~= '' then put(P, d, 'receipt', receipt) end
    if d.status ~= 'sent' then mark_sent(P, d, now, attempt) end
    moved = note_success(P, d, now, p)
  elseif outcome == 'unknown' then outcome_unknown(P, d, now, p) end
  return answer('late')
end
local trigger = d.runTrigger
local HANDED_ON_MS = 60000 -- a reconnect takes seconds
-- The destination's line first: else a key with a long line would hand the slot on among its own for ever.
local function hand_slots_on(handOffToken)
  local queued = {}
  local started = release(P, d.destination, now, defaults, handOffToken, queued)
  if d.keyGate ~= '' then started = release(P, d.keyGate, now, defaults, started and '' or handOffToken, queued) or started end
  if d.leftLane then started = release(P, LANE, now, defaults, started and '' or handOffToken, queued) or started end
  local handOff = started and cjson.encode(started) or ''
  if started then redis.call('SET', P .. 'handoff:' .. handOffToken, handOff, 'PX', HANDED_ON_MS) end
  return answer('done', handOff, queued)
end
local DEFER_MS = math.max(1000, tonumber(ARGV[9]) or 0) -- a reason that lasts must not become a hot loop
if outcome == 'deferred' then -- nothing was sent: no row, no attempt consumed; the number stays used, it was a fence
  count(P, 'attempts:' .. trigger, -1)
  clear_run(P, d)
  redis.call('ZREM', alarms(P, id), alarmId)
  if d.keyGate ~= '' and d.status == 'pending' and d.scheduleMade == 0 then redis.call('ZADD', gate(P, d.keyGate, 'line'), d.parkedAt, id) end
  if terminal(d) then unwatch_run(P, d) elseif trigger == 'schedule' then arm(P, d, now + DEFER_MS, now + DEFER_MS + p.graceMs) end
  -- A replay keeps its job id, which is taken until this job has ended: the sweeper sets it again.
  if trigger == 'replay' and d.replayId ~= '' then redis.call('ZADD', alarms(P, id), now + DEFER_MS, alarmId) end
  return hand_slots_on('')
end
append_attempt(P, d, now, class, code)
local asked = d.runProbe == 1 and not erp_target(d.destination) -- whether a paused endpoint works again
clear_run(P, d)
if asked then redis.call('HDEL', gate(P, d.destination), 'probe') end
redis.call('ZREM', alarms(P, id), alarmId)
if terminal(d) then unwatch_run(P, d) end
-- Who asked for all and got a no steps behind those who wait: one that fails for a reason of its own must not be every probe, or the
-- breaker of an ERP that is well would stay open for ever.
if d.runProbe == 1 and erp_target(d.destination) and not success and d.parkedAt > 0 then put(P, d, 'parkedAt', now) end
put(P, d, 'interruptions', 0)
-- A bulk run counts its own try; where it began the schedule again, that is the first attempt.
if trigger == 'replay' or d.replayId == '' then leave_run(P, d, success and 'sent' or 'failed', class .. ' ' .. code, now) end
if trigger == 'replay' then drop_replay(P, d, now); redis.call('HINCRBY', key(P, id), 'replaysMade', 1) end
if receipt ~= '' then put(P, d, 'receipt', receipt) end
if success and erp_target(d.destination) then count_posting(P, d, outcome) end
if outcome == 'absent' and trigger == 'schedule' then put(P, d, 'doubt', 0) end
if outcome == 'unknown' and outcome_unknown(P, d, now, p) and not terminal(d) then bury(P, d, now, 'unknown_outcome') end
if success then
  if trigger == 'schedule' and not terminal(d) and d.lookupFor == '' then put(P, d, 'scheduleMade', d.scheduleMade + 1) end
  if d.status ~= 'sent' then mark_sent(P, d, now, attempt) end
elseif outcome == 'gone' then -- also when a replay learnt it
  if not terminal(d) then
    if trigger == 'schedule' then put(P, d, 'scheduleMade', d.scheduleMade + 1) end
    bury(P, d, now, 'gone')
  end
elseif outcome == 'unknown' and trigger == 'replay' and d.status == 'dead_letter' then -- a look-up is owed again, for the same reason
  bury_after_lookup(P, d, now, p, redis.call('HGET', key(P, id), 'reason') or 'exhausted')
elseif trigger == 'schedule' and not terminal(d) then
  if asked then retry_in(P, d, now, p, 0) -- costs no scheduled attempt: it is held again when it rings
  elseif d.lookupFor ~= '' then -- a look-up-only attempt
    if outcome == 'absent' then bury(P, d, now, d.lookupFor)
    elseif outcome == 'reference_conflict' then bury(P, d, now, 'reference_conflict')
    elseif outcome == 'rejected' and class == 'mapping' then bury(P, d, now, 'unknown_outcome') -- it cannot even be asked for: a person's; a replay looks first
    else
      put(P, d, 'lookups', d.lookups + 1)
      retry_in(P, d, now, p, math.min(math.max(p.settleMs, 1000) * 2 ^ math.min(d.lookups, 10), 300000)) -- 5 min at most: an answer is owed
    end
  elseif outcome == 'reference_conflict' then bury(P, d, now, 'reference_conflict')
  elseif outcome == 'rejected' then
    put(P, d, 'scheduleMade', d.scheduleMade + 1)
    bury_after_lookup(P, d, now, p, class == 'mapping' and 'mapping_failed' or 'rejected')
  elseif d.runProbe == 1 and (outcome == 'failed' or outcome == 'unknown') and class ~= 'configuration' then
    -- It asked for the whole fleet. An outage that lasts for days must not use up the schedule of whoever is sent to look.
    retry_in(P, d, now, p, math.max(DEFER_MS, outcome == 'unknown' and p.settleMs or 0, tonumber(ARGV[9]) or 0))
  elseif outcome == 'unknown' then schedule_failed(P, d, now, p, math.max(p.settleMs, tonumber(ARGV[9]) or 0))
  else schedule_failed(P, d, now, p, tonumber(ARGV[9])) end
end -- a failed replay leaves status and schedule as they were
count(P, 'results:' .. label(d.destination) .. ':' .. outcome, 1)
if outcome ~= 'absent' then note_answer(P, d.destination, now, success) end -- a look-up that found nothing is no failure
if outcome == 'sent' then moved = note_success(P, d, now, p)
elseif outcome == 'failed' or outcome == 'gone' then moved = note_failure(P, d, now, p, class) end
if p.breaker and class ~= 'mapping' and class ~= 'configuration' then judge(P, d, now, p.breaker, outcome ~= 'failed' and outcome ~= 'unknown') end
local _, _, cap, halfOpen = free_slots(P, d.destination, now, p)
if cap > 0 and not halfOpen and d.runProbe ~= 1 then -- a destination that times out shrinks to one slot, each success gives one back
  local g = gate(P, d.destination)
  if string.sub(class, 1, 8) == 'timeout_' or (outcome == 'unknown') then redis.call('HSET', g, 'ramp', math.max(1, math.floor(cap / 2)))
  elseif success then
    local v = redis.call('HMGET', g, 'ramp', 'cap')
    if v[1] then if tonumber(v[1]) + 1 >= (tonumber(v[2]) or 1e9) then redis.call('HDEL', g, 'ramp') else redis.call('HINCRBY', g, 'ramp', 1) end end
  end
end
return hand_slots_on(ARGV[10])
