-- For waiters whose releasers all died, and for breakers whose time has come.
-- KEYS[1] gates
-- ARGV prefix, policy, limit
-- Returns { alarm id ... } whose job must be added
local P, p, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local queued = {}
for _, g in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))) do
  redis.call('ZADD', KEYS[1], gate_look_at(P, g, now, p), g)
  release(P, g, now, p, '', queued)
  if redis.call('ZCARD', gate(P, g, 'waiting')) == 0 then redis.call('ZREM', KEYS[1], g) end
end
return queued
