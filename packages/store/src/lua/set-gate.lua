-- Pauses or resumes a destination, or moves its breaker by hand. Audited in the same step.
-- KEYS[1] gate
-- ARGV prefix, policy, destination, 'pause'|'resume'|'breaker-open'|'breaker-close', operator, reason, actor
-- Returns { alarm id ... } whose job must be added
local P, p, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local g, action = ARGV[3], ARGV[4]
redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'action', 'destination.' .. action, 'operator', ARGV[5], 'actor', ARGV[7], 'destination', g, 'reason', ARGV[6])
if action == 'pause' then redis.call('HSET', KEYS[1], 'paused', '1'); return {} end
if action == 'breaker-open' then redis.call('HSET', KEYS[1], 'forced', '1'); return {} end
if action == 'resume' then
  redis.call('HDEL', KEYS[1], 'paused')
  redis.call('HSET', KEYS[1], 'ramp', 1) -- not a burst: one slot, each success gives one more
else close_breaker(P, g) end
redis.call('ZADD', P .. 'gates', now + p.gatePeriodMs, g)
local queued = {}
release(P, g, now, p, '', queued)
return queued
