-- Closes a dead letter that a person settled otherwise. Audited in the same step.
-- KEYS[1] delivery record
-- ARGV prefix, delivery id, operator, reason, actor
-- Returns {'ok'} | {'not_found'} | {'wrong_status', status}
local P, now = ARGV[1], now_ms()
local d = load(P, ARGV[2])
if not d or d.operator ~= ARGV[3] then return { 'not_found' } end
if d.status == 'resolved' then return { 'ok' } end
if d.status ~= 'dead_letter' then return { 'wrong_status', d.status } end
drop_replay(P, d, now)
watch_run(P, d)
put(P, d, 'resolvedReason', ARGV[4])
set_status(P, d, 'resolved', now)
if erp_target(d.destination) and d.created == 0 and d.found == 0 then count(P, 'resolved:' .. erp_target(d.destination), 1) end
redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'delivery.resolve', 'operator', d.operator, 'actor', ARGV[5], 'delivery', d.id, 'reason', ARGV[4])
return { 'ok' }
