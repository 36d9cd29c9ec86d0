-- One page of an index, from the highest score down, behind a place that need not be in it any more. Entries of one score (a fan-out
-- writes a hundred in one millisecond) are in the order of their names, so the place is found by halving, never by walking.
-- KEYS[1] index
-- ARGV highest score, name behind which the page begins within that score or '', lowest score, entries at most
-- Returns { name, score, ... }
local top, after, bottom = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- As Redis compares names. Lua's own < follows the locale of the server.
local function below(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
local from = redis.call('ZCOUNT', KEYS[1], '(' .. top, '+inf')
if after ~= '' then
  local to = from + redis.call('ZCOUNT', KEYS[1], top, top)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if below(redis.call('ZREVRANGE', KEYS[1], middle, middle)[1], after) then to = middle else from = middle + 1 end
  end
end
local page = redis.call('ZREVRANGE', KEYS[1], from, from + tonumber(ARGV[4]) - 1, 'WITHSCORES')
local out = {}
for i = 1, #page, 2 do
  if tonumber(page[i + 1]) < bottom then break end
  out[i], out[i + 1] = page[i], page[i + 1]
end
return out
