-- Notes what a process of ingest saw of one source since it last told. Several processes tell, in any order, so times only
-- grow and the first telling of a secret stays.
-- Nothing is noted for later than Redis' own clock says it is: a process whose clock is a year ahead would otherwise keep a
-- source from ever being silent, and a secret from ever being unused, for that year.
-- The counts of the hours are a ring: slot `h<hour mod ring>` holds `<hour>:<count>`, so that the hash cannot outgrow it, and
-- what was counted before a long silence stays until something comes again.
-- KEYS[1] source-use hash
-- ARGV size of the ring, n, then n times a field and a value:
--   `since...`  when it began (set once)      `h`  `<hour>:<count>` to add
--   all others  ms of the latest use
-- Returns 1
local ring = tonumber(ARGV[1])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local thisHour = math.floor(now / 3600000)
for i = 3, 2 + 2 * tonumber(ARGV[2]), 2 do
  local field, value = ARGV[i], ARGV[i + 1]
  if field == 'h' then
    local hour, count = string.match(value, '^(%d+):(%d+)$')
    if tonumber(hour) > thisHour then hour = string.format('%.0f', thisHour) end
    local slot = 'h' .. (tonumber(hour) % ring)
    local heldHour, heldCount = string.match(redis.call('HGET', KEYS[1], slot) or '', '^(%d+):(%d+)$')
    if heldHour == hour then count = tonumber(count) + tonumber(heldCount) end
    -- A process whose Redis was away for long may tell of an hour that has left the ring.
    if not heldHour or tonumber(heldHour) <= tonumber(hour) then
      redis.call('HSET', KEYS[1], slot, hour .. ':' .. string.format('%.0f', count))
    end
  else
    local at = math.min(tonumber(value), now)
    if string.sub(field, 1, 5) == 'since' then
      redis.call('HSETNX', KEYS[1], field, string.format('%.0f', at))
    elseif at > tonumber(redis.call('HGET', KEYS[1], field) or '0') then
      redis.call('HSET', KEYS[1], field, string.format('%.0f', at))
    end
  end
end
return 1
