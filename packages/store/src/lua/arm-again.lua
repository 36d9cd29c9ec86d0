-- Arms a delivery that nobody would come back to: it is open, and neither an alarm nor a place at a gate stands for it.
-- KEYS[1] delivery record
-- ARGV prefix, policy, delivery id
-- Returns { 1 when it was armed, else 0 }. The sweeper adds the job.
local P, now = ARGV[1], now_ms()
local d = load(P, ARGV[3])
if not d or terminal(d) or (d.run > 0 and d.runUntil > now) then return { 0 } end
local alarmId = alarm_id(d)
if redis.call('ZSCORE', alarms(P, d.id), alarmId) then return { 0 } end
for _, g in ipairs(gates_of(d)) do if redis.call('ZSCORE', gate(P, g, 'waiting'), alarmId) then return { 0 } end end
redis.call('ZADD', alarms(P, d.id), math.max(now, d.nextAttemptAt), alarmId)
return { 1 }
