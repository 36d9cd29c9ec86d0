-- Takes out of a group of dead letters what is none of them: a process of a version that knew no groups moved it, or removed it.
-- KEYS[1] the group's index
-- ARGV prefix, operator, group, delivery id ...
-- Returns { how many left the group }
local P, operator = ARGV[1], ARGV[2]
local destination, class = string.match(ARGV[3], '^(.*):([^:]*)$')
local left = 0
for i = 4, #ARGV do
  local d = load(P, ARGV[i])
  if not d or d.status ~= 'dead_letter' or d.class ~= class then
    regroup(P, { id = ARGV[i], operator = operator, destination = destination, class = class }, nil)
    left = left + 1
  end
end
return { left }
