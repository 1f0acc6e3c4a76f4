-- SPDX-License-Identifier: MIT
-- The documents that the codecs are timed on: the three usual ones where
-- they are at hand, else made ones of the same shape and size.
local report = require "bench.report"
local settings = require "bench.settings"
local uv = require "luv"

local documents = {}

local words = { "alpha", "beta", "次の", "gamma\\n", "été", "delta", "日本語",
  "omega", "\\\"x\\\"", "zeta", "http:\\/\\/t.co\\/x" }

local function text(length)
  local parts = {}
  for i = 1, length do parts[i] = words[math.random(#words)] end
  return '"' .. table.concat(parts, " ") .. '"'
end

-- Objects with many members, long strings with escapes, deep indentation.
local function twitter()
  local user = [[
        "id": %d, "id_str": "%d", "name": %s, "description": %s,
        "protected": false, "followers_count": %d, "utc_offset": null,
        "profile_image_url": "http://example.com/%d/image.png"]]
  local out = {}
  for i = 1, 700 do
    local id = math.random(10^9, 10^17)
    out[i] = ([[
    {
      "created_at": "Sun Aug 31 00:29:15 +0000 2014",
      "id": %d,
      "text": %s,
      "truncated": false,
      "in_reply_to_status_id": null,
      "user": {
%s
      },
      "entities": { "hashtags": [], "urls": [],
        "user_mentions": [ { "id": %d, "indices": [ 0, 9 ] } ] },
      "retweet_count": %d,
      "lang": "ja"
    }]]):format(id, text(25), user:format(id, id, text(2), text(25),
      math.random(9999), id), id, math.random(500))
  end
  return '{\n  "statuses": [\n' .. table.concat(out, ",\n") .. "\n  ]\n}\n"
end

-- Small objects with few keys, over and over; integers; white space.
local function citm_catalog()
  local area = [[
                        {
                            "areaId": %d,
                            "blockIds": []
                        }]]
  local out = {}
  for i = 1, 2600 do
    local areas = {}
    for j = 1, 5 do areas[j] = area:format(math.random(205000000, 206000000)) end
    out[i] = ([[
        {
            "eventId": %d,
            "id": %d,
            "logo": null,
            "name": null,
            "seatCategories": [
                {
                    "areas": [
%s
                    ],
                    "seatCategoryId": %d
                }
            ],
            "start": %d
        }]]):format(math.random(10^8, 10^9), math.random(10^8, 10^9),
      table.concat(areas, ",\n"), math.random(10^8, 10^9), 1372701600000 + i)
  end
  return '{\n    "performances": [\n' .. table.concat(out, ",\n") .. "\n    ]\n}\n"
end

-- Pairs of doubles with all their digits.
local function canada()
  local rings = {}
  for i = 1, 480 do
    local points = {}
    for j = 1, 116 do
      points[j] = ("[%.17g,%.17g]"):format(-140 + 90 * math.random(),
        42 + 41 * math.random())
    end
    rings[i] = "[" .. table.concat(points, ",") .. "]"
  end
  return '{"type":"FeatureCollection","features":[{"type":"Feature",'
    .. '"properties":{"name":"made"},"geometry":{"type":"Polygon",'
    .. '"coordinates":[' .. table.concat(rings, ",") .. "]}}]}\n"
end

local makers = { { "twitter", twitter }, { "citm_catalog", citm_catalog },
  { "canada", canada } }

local function make(name, maker)
  local path = settings.work .. "/" .. name .. ".json"
  local file <close> = assert(io.open(path, "w"))
  math.randomseed(1)
  file:write(maker())
  return path
end

--- A list of { name, path, size }.
function documents.find()
  local list, made = {}, false
  for i, entry in ipairs(makers) do
    local name, maker = table.unpack(entry)
    local path = settings.corpora .. "/json/nativejson/" .. name .. ".json"
    if not uv.fs_stat(path) then
      path, made = make(name, maker), true
    end
    list[i] = { name = name, path = path, size = uv.fs_stat(path).size }
  end
  if made and not documents.told then
    documents.told = true
    report.leave_out("twitter, citm_catalog, canada", settings.corpora
      .. " is absent; made documents of the same shape stand in for them")
  end
  return list
end

return documents
