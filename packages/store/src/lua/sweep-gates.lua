-- For waiters whose releasers all died, rates that let one through again, breakers whose time has come, and those who wait at a pause.
-- KEYS[1] gates
-- ARGV prefix, policy, limit
-- Returns { ms until the next gate is due or '', alarm id ... } whose job must be added
local P, defaults, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local queued = {}
for _, g in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))) do
  redis.call('ZADD', KEYS[1], gate_look_at(P, g, now, defaults), g)
  if redis.call('HGET', gate(P, g), 'paused') == '1' then look_at_pause(P, g, now, policy_of(P, defaults, g), queued)
  else release(P, g, now, defaults, '', queued) end
  if redis.call('ZCARD', gate(P, g, 'waiting')) == 0 then redis.call('ZREM', KEYS[1], g) end
end
local next = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return { next and math.max(0, math.ceil(next - now)) or '', unpack(queued) }
