-- Adds a replay to a delivery. Audited in the same step.
-- KEYS[1] delivery record
-- ARGV prefix, policy, delivery id, operator, replay id, mode 'single'|'restart', acknowledged '0'|'1', reason, actor
-- Returns {'ok', alarm id} | {'not_found'} | {'in_flight', waitMs} | {'already', replay id} | {'paused'} | {'resolved'} | {'removed'} | {'needs_acknowledgement'}
local P, p, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local id, replayId, mode = ARGV[3], ARGV[5], ARGV[6]
local d = load(P, id)
if not d or d.operator ~= ARGV[4] then return { 'not_found' } end
if d.lastReplayId == replayId then return { 'ok', mode == 'restart' and alarm_id(d) or (id .. '-r' .. replayId) } end -- a resent command
if removed(P, d.destination) then return { 'removed' } end
if d.run > 0 and d.runUntil > now then return { 'in_flight', d.runUntil - now } end
if d.replayId ~= '' then return { 'already', d.replayId } end
if d.status == 'resolved' then return { 'resolved' } end
if redis.call('HGET', gate(P, d.destination), 'paused') == '1' then return { 'paused' } end
local own = policy_of(P, p, d.destination)
-- What may be at an ERP that can neither look up nor dedupe is posted again only if a person says so.
local blind = erp_target(d.destination) and d.doubt == 1 and not own.canFind and not own.dedupes
if (d.status == 'sent' or blind) and ARGV[7] ~= '1' then return { 'needs_acknowledgement' } end
if mode == 'restart' and d.status == 'failed' and d.restartSeq == d.seq then return { 'already', d.lastReplayId } end
put(P, d, 'lastReplayId', replayId, 'interruptions', 0)
redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'delivery.replay', 'operator', d.operator, 'actor', ARGV[9], 'delivery', id, 'mode', mode, 'reason', ARGV[8], 'replay', replayId)
if mode == 'restart' then
  disarm(P, d)
  put(P, d, 'scheduleMade', 0, 'reason', '', 'lookupFor', '')
  arm(P, d, now, now + p.graceMs)
  put(P, d, 'restartSeq', d.seq)
  if erp_target(d.destination) then put(P, d, 'doubt', 1) end -- it looks first, whatever the target's configuration says
  set_status(P, d, 'failed', now)
  return { 'ok', alarm_id(d) }
end
put(P, d, 'replayId', replayId)
redis.call('ZADD', alarms(P, id), now + p.graceMs, id .. '-r' .. replayId)
return { 'ok', id .. '-r' .. replayId }
