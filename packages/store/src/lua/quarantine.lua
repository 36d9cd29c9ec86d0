-- Keeps a refused request, and forgets the source's oldest beyond the bound.
-- KEYS[1] list of the source, KEYS[2] entry
-- ARGV entry id, received at (ms), most entries, ttl ms, prefix of entries, then the entry's fields and values
-- Returns nothing
redis.call('HSET', KEYS[2], unpack(ARGV, 6))
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2] - ARGV[4])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -ARGV[3] - 1)) do
  redis.call('DEL', ARGV[5] .. id)
  redis.call('ZREM', KEYS[1], id)
end
