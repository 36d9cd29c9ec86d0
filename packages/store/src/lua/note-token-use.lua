-- Notes that a token was used, at most once in ARGV[1] ms, and never of one whose record has left meanwhile.
-- KEYS[1] token
-- ARGV ms between two notes
-- Returns 1 when noted
local v = redis.call('HMGET', KEYS[1], 'id', 'lastUsedAt')
if not v[1] then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if v[2] and now - tonumber(v[2]) < tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'lastUsedAt', now)
return 1
