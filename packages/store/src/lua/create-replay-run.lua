-- Starts a bulk run whose deliveries are in its list already. Audited in the same step.
-- KEYS[1] run, KEYS[2] its list of deliveries
-- ARGV prefix, run id, operator, actor, reason, filter (text for the audit log), runs of an operator at most, then field, value ...
-- Returns {'ok'} | {'too_many', run ...}: those that are under way
local P, now = ARGV[1], now_ms()
if redis.call('EXISTS', KEYS[1]) == 1 then return { 'ok' } end -- a resent command
local others = too_many_runs(P, ARGV[3], tonumber(ARGV[7]))
if others then redis.call('DEL', KEYS[2]); return { 'too_many', unpack(others) } end
redis.call('PERSIST', KEYS[2]) -- it was to vanish, should its maker have died before this
redis.call('HSET', KEYS[1], 'state', 'running', 'operator', ARGV[3], 'actor', ARGV[4], 'reason', ARGV[5], 'filter', ARGV[6], 'createdAt', now, 'updatedAt', now,
  'nextAt', 0, 'requested', 0, 'sent', 0, 'failed', 0, 'matched', redis.call('LLEN', KEYS[2]), unpack(ARGV, 8))
redis.call('ZADD', P .. 'replay-runs:' .. ARGV[3], now, ARGV[2])
redis.call('ZADD', P .. 'replay-active', now, ARGV[2])
redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'replays.start', 'operator', ARGV[3], 'actor', ARGV[4], 'replay', ARGV[2], 'reason', ARGV[5], 'filter', ARGV[6])
return { 'ok' }
