-- Breaker of an ERP target, for the whole fleet. `results` holds the last outcomes, '1' good and '0' bad; windows are counted, not timed,
-- so an ERP that hangs 30 s a call opens it too. While open, only the probe's result moves it.
local function open_breaker(P, g, now, backoffMs)
  redis.call('HSET', gate(P, g), 'openUntil', now + backoffMs, 'backoffMs', backoffMs, 'openedAt', now)
  redis.call('HDEL', gate(P, g), 'results', 'consecutive')
  redis.call('ZADD', P .. 'gates', now + backoffMs, g)
  for _, id in ipairs(redis.call('ZRANGE', gate(P, g, 'running'), 0, -1)) do -- a slot that was only reserved must not slip through as a second probe
    if not redis.call('HGET', key(P, id), 'run') then
      redis.call('ZREM', gate(P, g, 'running'), id)
      local keyGate = redis.call('HGET', key(P, id), 'keyGate')
      if keyGate then redis.call('ZREM', gate(P, keyGate, 'running'), id) end
    end
  end
end
local function close_breaker(P, g)
  redis.call('HDEL', gate(P, g), 'openUntil', 'backoffMs', 'openedAt', 'results', 'consecutive', 'forced')
  redis.call('HSET', gate(P, g), 'ramp', 1) -- not a burst: one slot, each success gives one more
end
local function judge(P, d, now, b, good)
  local g = gate(P, d.destination)
  local v = redis.call('HMGET', g, 'openUntil', 'backoffMs', 'results', 'consecutive')
  if v[1] then
    if d.runProbe ~= 1 then return end -- began before it opened: says nothing about now
    if good then close_breaker(P, d.destination)
    else open_breaker(P, d.destination, now, math.min((tonumber(v[2]) or b.fromMs) * 2, b.toMs)) end
    return
  end
  local results = string.sub((v[3] or '') .. (good and '1' or '0'), -b.window)
  local consecutive = good and 0 or (tonumber(v[4]) or 0) + 1
  local _, bad = string.gsub(results, '0', '')
  if consecutive >= b.consecutive or (#results >= b.window and bad * 100 > b.percentage * #results) then
    open_breaker(P, d.destination, now, b.fromMs)
  else
    redis.call('HSET', g, 'results', results, 'consecutive', consecutive)
  end
end
-- Postings are counted once per creating answer, so that a double shows. A document that only a look-up revealed counts as one; when
-- its creating answer turns up late, it explains the find and is not counted again. What a person had resolved is owed again.
local function count_posting(P, d, outcome)
  local target = erp_target(d.destination)
  if outcome ~= 'posted' and outcome ~= 'already_posted' then return end
  local known = d.created + d.found
  if known == 0 and d.status == 'resolved' then count(P, 'resolved:' .. target, -1) end
  if outcome == 'posted' then
    put(P, d, 'created', d.created + 1)
    if d.found == 1 and d.created == 1 then return end
  else
    if known > 0 then return end
    put(P, d, 'found', 1)
  end
  count(P, 'postings:' .. target, 1)
  if known > 0 then count(P, 'doubles:' .. target, 1) end
end
