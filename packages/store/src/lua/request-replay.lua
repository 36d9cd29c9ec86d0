-- Adds a replay to a delivery. Audited in the same step.
-- KEYS[1] delivery record
-- ARGV prefix, policy, delivery id, operator, replay id, mode 'single'|'restart', acknowledged '0'|'1', reason, actor
-- Returns {'ok', alarm id} | {'not_found'} | what request_replay refuses with
local P, p, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local id, replayId, mode = ARGV[3], ARGV[5], ARGV[6]
local d = load(P, id)
if not d or d.operator ~= ARGV[4] then return { 'not_found' } end
if d.lastReplayId == replayId then return { 'ok', mode == 'restart' and alarm_id(d) or (id .. '-r' .. replayId) } end -- a resent command
local answer = request_replay(P, p, d, now, { id = replayId, mode = mode, acknowledged = ARGV[7] == '1', run = '', status = '' })
if answer[1] == 'ok' then
  redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'delivery.replay', 'operator', d.operator, 'actor', ARGV[9], 'delivery', id, 'mode', mode, 'reason', ARGV[8], 'replay', replayId)
end
return answer
