-- Revokes a token. Audited in the same step. Its record stays for a while, so that people can see what became of it.
-- KEYS[1] token, KEYS[2] audit
-- ARGV id, ms that the record stays, then field, value ... of the audit entry
-- Returns 'ok' | 'already' | 'not_found'
local v = redis.call('HMGET', KEYS[1], 'id', 'revokedAt')
if v[1] ~= ARGV[1] then return 'not_found' end
if v[2] then return 'already' end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'revokedAt', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 100000, '*', unpack(ARGV, 3))
return 'ok'
