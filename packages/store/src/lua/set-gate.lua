-- Pauses or resumes a destination, or moves its breaker by hand. Audited in the same step. 'recovered' is a success that was seen outside
-- of any delivery: it ends the pause only where no person asked for it.
-- KEYS[1] gate
-- ARGV prefix, policy, destination, 'pause'|'resume'|'recovered'|'breaker-open'|'breaker-close', operator, reason, actor
-- Returns { 1 when something changed, else 0, alarm id ... } whose job must be added
local P, p, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local g, action = ARGV[3], ARGV[4]
if action == 'recovered' then
  redis.call('HDEL', KEYS[1], 'failingSince')
  if redis.call('HGET', KEYS[1], 'pausedAuto') ~= '1' then return { 0 } end
end
audit_gate(P, g, action, ARGV[5], ARGV[7], ARGV[6])
if action == 'pause' then pause(P, g, now, ARGV[7], ARGV[6]); redis.call('HDEL', KEYS[1], 'pausedAuto', 'probe', 'probeAt'); return { 1 } end
if action == 'breaker-open' then redis.call('HSET', KEYS[1], 'forced', '1'); return { 1 } end
if action == 'breaker-close' then
  close_breaker(P, g)
  redis.call('ZADD', P .. 'gates', now + p.gatePeriodMs, g)
else resume(P, g, now, p) end
local queued = {}
release(P, g, now, p, '', queued)
return { 1, unpack(queued) }
