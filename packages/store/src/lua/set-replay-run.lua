-- Cancels or resumes a bulk run, or gives it up after a fault. Audited in the same step.
-- KEYS[1] run, KEYS[2] its list of deliveries
-- ARGV prefix, run id, operator, 'cancel'|'resume'|'fail', actor, reason or error, runs of an operator at most
-- Returns {'ok', state} | {'not_found'} | {'wrong_status', state} | {'too_many', run ...}: those that are under way
local P, now = ARGV[1], now_ms()
local run, operator, action = ARGV[2], ARGV[3], ARGV[4]
local v = redis.call('HMGET', KEYS[1], 'state', 'operator')
if not v[1] or v[2] ~= operator then return { 'not_found' } end
local state = v[1]
if action == 'resume' then
  if state == 'running' then return { 'ok', state } end
  if state == 'done' then return { 'wrong_status', state } end
  local others = too_many_runs(P, operator, tonumber(ARGV[7]))
  if others then return { 'too_many', unpack(others) } end
  state = 'running'
  redis.call('HSET', KEYS[1], 'state', state, 'error', '', 'inARow', 0, 'updatedAt', now)
  for _, part in ipairs({ '', ':ids', ':notes' }) do redis.call('PERSIST', KEYS[1] .. part) end
  redis.call('ZADD', P .. 'replay-active', now, run)
else
  local to = action == 'cancel' and 'cancelled' or 'failed'
  if state == to then return { 'ok', state } end
  if state ~= 'running' then return { 'wrong_status', state } end
  state = to
  stop_run(P, run, to, action == 'fail' and ARGV[6] or '', now)
end
redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'replays.' .. action, 'operator', operator, 'actor', ARGV[5], 'replay', run, 'reason', ARGV[6])
if action == 'resume' then settle_run(P, run, now) end -- a run may have had nothing left but open replays, which have ended
return { 'ok', redis.call('HGET', KEYS[1], 'state') }
