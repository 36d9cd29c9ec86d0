-- Finds alarms that are past their time: their job was lost, is late, or its process died.
-- KEYS[1] alarms of one queue
-- ARGV prefix, policy, limit, what the keys of its jobs begin with (BullMQ's own)
-- Returns { alarm id, waitMs, 1 when it is a retry, else 0, ... } whose job must be added. A job that is there and only late, in a long
-- line, is left alone; adding it would change nothing.
local P, defaults, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local out = {}
for _, alarmId in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))) do
  local id, trigger, what = parse(alarmId)
  local d = load(P, id)
  if d and d.run > 0 and d.runUntil > now then redis.call('ZADD', KEYS[1], d.runUntil + defaults.runGraceMs, alarmId)
  else
    local armed, p
    if d then
      p = policy_of(P, defaults, d.destination)
      local died = d.runTrigger -- '' when none is in flight
      if d.run > 0 then close_interrupted(P, d, now, p) end
      if trigger == 'replay' then armed = d.replayId == what and alarmId or nil
      elseif not terminal(d) and (d.seq == what or died == 'schedule') then armed = alarm_id(d) end
    end
    if armed ~= alarmId then redis.call('ZREM', KEYS[1], alarmId) end
    if armed then
      local wait = trigger == 'schedule' and math.max(0, d.nextAttemptAt - now) or 0
      redis.call('ZADD', KEYS[1], now + wait + p.rearmMs, armed)
      if redis.call('EXISTS', ARGV[4] .. armed) == 0 then
        out[#out + 1] = armed; out[#out + 1] = wait; out[#out + 1] = trigger == 'schedule' and d.attempts > 0 and 1 or 0
      end
    end
  end
end
return out
