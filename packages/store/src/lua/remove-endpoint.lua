-- Removes an endpoint: no new event is planned for it and its secrets are gone. Its open deliveries are dead-lettered afterwards, in
-- bounded steps (bury-removed.lua); until that is done it stays listed in `removals`, where the sweeper finds it.
-- KEYS[1] endpoint, KEYS[2] the operator's list, KEYS[3] version of that list, KEYS[4] gate, KEYS[5] removals, KEYS[6] audit
-- ARGV id, operator, version that was read or '', then field, value ... of the audit entry
-- Returns {'ok'} | {'already'} | {'not_found'} | {'conflict', version}
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local v = redis.call('HMGET', KEYS[1], 'operator', 'record', 'removedAt')
if v[1] ~= ARGV[2] then return { 'not_found' } end
if v[3] then return { 'already' } end
local version = cjson.decode(v[2]).version or 1
if ARGV[3] ~= '' and version ~= tonumber(ARGV[3]) then return { 'conflict', version } end
redis.call('HDEL', KEYS[1], 'record')
redis.call('HSET', KEYS[1], 'removedAt', now)
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('INCR', KEYS[3])
-- Of the gate only what attempts in flight need is left: a pause of an endpoint that is gone would be counted and looked at for ever.
local gate = redis.call('HMGET', KEYS[4], 'cap', 'policy')
redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[4], 'removed', '1', 'cap', gate[1] or 0, 'policy', gate[2] or '{}')
redis.call('ZADD', KEYS[5], now, ARGV[1])
redis.call('XADD', KEYS[6], 'MAXLEN', '~', 100000, '*', unpack(ARGV, 4))
return { 'ok' }
