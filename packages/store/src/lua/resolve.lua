-- Closes a dead letter that a person settled otherwise. Audited in the same step.
-- KEYS[1] delivery record
-- ARGV prefix, delivery id, operator, reason, actor, '1': the ERP holds its document
-- Returns {'ok'} | {'not_found'} | {'wrong_status', status}
local P, now = ARGV[1], now_ms()
local d = load(P, ARGV[2])
if not d or d.operator ~= ARGV[3] then return { 'not_found' } end
-- A document that a person made under our reference is in the ERP's count, so it stays owed and counts as found. It may be said later.
local function note_document()
  local news = ARGV[6] == '1' and erp_target(d.destination) and d.created + d.found == 0
  if news then count_posting(P, d, 'already_posted') end
  return news
end
-- Should the record be lost, what was counted for it is known from here.
local function note_counted() if d.created + d.found > 0 then redis.call('SADD', P .. 'settled', d.id) end end
local function audit() redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'delivery.resolve', 'operator', d.operator, 'actor', ARGV[5], 'delivery', d.id, 'reason', ARGV[4]) end
if d.status == 'resolved' then
  if note_document() then audit() end
  note_counted()
  return { 'ok' }
end
if d.status ~= 'dead_letter' then return { 'wrong_status', d.status } end
drop_replay(P, d, now)
watch_run(P, d)
put(P, d, 'resolvedReason', ARGV[4])
set_status(P, d, 'resolved', now)
if erp_target(d.destination) and d.created == 0 and d.found == 0 then count(P, 'resolved:' .. erp_target(d.destination), 1) end
note_document()
note_counted()
audit()
return { 'ok' }
