-- Finds alarms that are past their time: their job was lost, is late, or its process died.
-- KEYS[1] alarms of one queue
-- ARGV prefix, policy, limit
-- Returns { alarm id, waitMs, ... } whose job must be added; adding an existing one changes nothing
local P, defaults, now = ARGV[1], cjson.decode(ARGV[2]), now_ms()
local out = {}
for _, alarmId in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))) do
  local id, trigger, what = parse(alarmId)
  local d = load(P, id)
  local wanted = d and ((trigger == 'replay' and d.replayId == what) or (trigger == 'schedule' and not terminal(d) and d.seq == what))
  if not wanted then redis.call('ZREM', KEYS[1], alarmId)
  elseif d.run > 0 and d.runUntil > now then redis.call('ZADD', KEYS[1], d.runUntil + defaults.runGraceMs, alarmId)
  else
    local p = policy_of(P, defaults, d.destination)
    local armed = alarmId
    if d.run > 0 then -- its process died: a new job id, so that recovery does not wait for BullMQ's stall check
      close_interrupted(P, d, now, p)
      if trigger == 'schedule' then
        if terminal(d) then armed = nil
        elseif d.seq == what then arm(P, d, now, now + p.rearmMs); armed = alarm_id(d)
        else armed = alarm_id(d) end
      elseif d.replayId ~= what then armed = nil end
      if not armed then redis.call('ZREM', KEYS[1], alarmId) end
    end
    if armed then
      local wait = trigger == 'schedule' and math.max(0, d.nextAttemptAt - now) or 0
      redis.call('ZADD', KEYS[1], now + wait + p.rearmMs, armed)
      out[#out + 1] = armed; out[#out + 1] = wait
    end
  end
end
return out
