-- Notes what a process of ingest saw of one source since it last told. Several processes tell, in any order, so times only
-- grow and the first telling of a secret stays.
-- The counts of the hours are a ring: slot `h<hour mod ring>` holds `<hour>:<count>`, so that the hash cannot outgrow it, and
-- what was counted before a long silence stays until something comes again.
-- KEYS[1] source-use hash
-- ARGV size of the ring, n, then n times a field and a value:
--   `since...`  when it began (set once)      `h`  `<hour>:<count>` to add
--   all others  ms of the latest use
-- then, where it is given, ms before which a secret that is not among the fields is forgotten
-- Returns 1
local ring = tonumber(ARGV[1])
local told = {}
for i = 3, 2 + 2 * tonumber(ARGV[2]), 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  told[string.match(field, '^since:(.+)$') or ''] = true
  if field == 'h' then
    local hour, count = string.match(value, '^(%d+):(%d+)$')
    local slot = 'h' .. (tonumber(hour) % ring)
    local heldHour, heldCount = string.match(redis.call('HGET', KEYS[1], slot) or '', '^(%d+):(%d+)$')
    if heldHour == hour then count = tonumber(count) + tonumber(heldCount) end
    -- A process whose Redis was away for long may tell of an hour that has left the ring.
    if not heldHour or tonumber(heldHour) <= tonumber(hour) then
      redis.call('HSET', KEYS[1], slot, hour .. ':' .. string.format('%.0f', count))
    end
  elseif string.sub(field, 1, 5) == 'since' then
    redis.call('HSETNX', KEYS[1], field, value)
  else
    local held = tonumber(redis.call('HGET', KEYS[1], field) or '0')
    if tonumber(value) > held then redis.call('HSET', KEYS[1], field, value) end
  end
end
local forgetBefore = tonumber(ARGV[3 + 2 * tonumber(ARGV[2])] or '')
if forgetBefore then
  -- The latest that is known of each secret, of its beginning or of its use.
  local latest, held = {}, redis.call('HGETALL', KEYS[1])
  for i = 1, #held, 2 do
    local secret = string.match(held[i], '^since:(.+)$') or string.match(held[i], '^secret:(.+)$')
    if secret and not told[secret] then latest[secret] = math.max(latest[secret] or 0, tonumber(held[i + 1])) end
  end
  for secret, at in pairs(latest) do
    if at < forgetBefore then redis.call('HDEL', KEYS[1], 'since:' .. secret, 'secret:' .. secret) end
  end
end
return 1
