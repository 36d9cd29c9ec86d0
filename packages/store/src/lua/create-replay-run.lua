-- Starts a bulk run whose deliveries are in its list already. Audited in the same step.
-- KEYS[1] run, KEYS[2] its list of deliveries
-- ARGV prefix, run id, operator, actor, reason, filter (text for the audit log), then field, value ... of the record
-- Returns {'ok'}
local t = redis.call('TIME')
local P, now = ARGV[1], t[1] * 1000 + math.floor(t[2] / 1000)
if redis.call('EXISTS', KEYS[1]) == 1 then return { 'ok' } end -- a resent command
redis.call('PERSIST', KEYS[2]) -- it was to vanish, should its maker have died before this
redis.call('HSET', KEYS[1], 'state', 'running', 'operator', ARGV[3], 'actor', ARGV[4], 'reason', ARGV[5], 'filter', ARGV[6], 'createdAt', now, 'updatedAt', now,
  'nextAt', 0, 'requested', 0, 'sent', 0, 'failed', 0, 'matched', redis.call('LLEN', KEYS[2]), unpack(ARGV, 7))
redis.call('ZADD', P .. 'replay-runs:' .. ARGV[3], now, ARGV[2])
redis.call('ZADD', P .. 'replay-active', now, ARGV[2])
redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'replays.start', 'operator', ARGV[3], 'actor', ARGV[4], 'replay', ARGV[2], 'reason', ARGV[5], 'filter', ARGV[6])
return { 'ok' }
