-- Creates or changes an endpoint: record, list, gate and audit entry in one step, if nobody changed it since it was read.
-- KEYS[1] endpoint, KEYS[2] the operator's list, KEYS[3] version of that list, KEYS[4] gate, KEYS[5] audit
-- ARGV id, operator, version that was read (0: it must not exist), record, cap, policy, rate per second or '', burst or '',
--      then field, value ... of the audit entry
-- Returns {'ok'} | {'not_found'} | {'conflict', version}
local v = redis.call('HMGET', KEYS[1], 'record', 'removedAt')
if v[1] == ARGV[4] then return { 'ok' } end -- a resent command: the record holds its own next version
local version = v[1] and (cjson.decode(v[1]).version or 1) or 0
if v[2] or (version == 0 and ARGV[3] ~= '0') then return { 'not_found' } end
if version ~= tonumber(ARGV[3]) then return { 'conflict', version } end
redis.call('HSET', KEYS[1], 'operator', ARGV[2], 'record', ARGV[4])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('INCR', KEYS[3])
redis.call('HSET', KEYS[4], 'cap', ARGV[5], 'policy', ARGV[6])
if ARGV[7] == '' then redis.call('HDEL', KEYS[4], 'rate_per_s', 'rate_burst')
else redis.call('HSET', KEYS[4], 'rate_per_s', ARGV[7], 'rate_burst', ARGV[8]) end
redis.call('XADD', KEYS[5], 'MAXLEN', '~', 100000, '*', unpack(ARGV, 9))
return { 'ok' }
