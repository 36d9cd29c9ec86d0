-- Asks the record whether this alarm may start an attempt now, and if so writes the intent: number (the fence), lease, trigger.
-- KEYS[1] delivery record
-- ARGV prefix, policy, delivery id, alarm id, token (fresh per call; a resent command repeats it)
-- Returns {'go', attempt, trigger, scheduleMade, reference or '', doubt, look-up-only reason or '', leaseMs, probe 0|1, bytes of the body}
--       | {'busy'|'early', waitMs} | {'stale', status, alarm id to arm or '', waitMs} | {'missing'}
--       | {'parked', 'cap'|'rate'|'paused'|'breaker', ms until somebody must look at the gate}
local P, defaults, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local id, alarmId, token = ARGV[3], ARGV[4], ARGV[5]
local d = load(P, id)
if not d then redis.call('ZREM', alarms(P, id), alarmId); return { 'missing' } end
local p = policy_of(P, defaults, d.destination)
-- Fanned out while the endpoint was removed, or not yet reached by the removal: nothing is sent any more.
if removed(P, d.destination) and (d.run == 0 or d.runUntil <= now) then
  if d.run > 0 then close_interrupted(P, d, now, p) end
  close_removed(P, d, now)
  redis.call('ZREM', alarms(P, id), alarmId)
  return { 'stale', d.status, '', 0 }
end
local _, trigger, what = parse(alarmId)
local answer = admit(P, d, alarmId, trigger, what, now, p, token)
if answer then return answer end
local closed, why, probe
if not passes_gates(d, trigger) then closed, why, probe = closed_gate(P, d, now, p) end
if closed then
  park(P, closed, why, d, alarmId, trigger, now, p)
  return { 'parked', why, math.max(0, gate_look_at(P, closed, now, p) - now) }
end
return start(P, d, now, alarmId, trigger, p, token, probe)
