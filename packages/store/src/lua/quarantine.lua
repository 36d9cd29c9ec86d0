-- Keeps a refused request, and forgets the oldest beyond the bounds. In order of Redis' clock: a receiver whose own clock is
-- wrong would otherwise push out what others kept. One that is kept already stays as it first came.
-- KEYS[1] entry, KEYS[2] list of the source, KEYS[3] entries of all sources that anybody can cause; left out for others
-- ARGV entry id, most entries of the source, most of all sources, ttl ms, prefix of entries, prefix of the sources' lists,
--   then the entry's fields and values
-- Returns 1 if it was not kept before, else 0
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local most = { [2] = tonumber(ARGV[2]), [3] = tonumber(ARGV[3]) }
redis.call('HSET', KEYS[1], unpack(ARGV, 7))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
for k = 2, #KEYS do
  redis.call('ZREMRANGEBYSCORE', KEYS[k], '-inf', now - ARGV[4])
  redis.call('ZADD', KEYS[k], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[k], ARGV[4])
  for _, id in ipairs(redis.call('ZRANGE', KEYS[k], 0, -most[k] - 1)) do
    local source = redis.call('HGET', ARGV[5] .. id, 'source')
    if source then redis.call('ZREM', ARGV[6] .. source, id) end
    if KEYS[3] then redis.call('ZREM', KEYS[3], id) end
    redis.call('ZREM', KEYS[k], id)
    redis.call('DEL', ARGV[5] .. id)
  end
end
return 1
