local words = {}

function words.capitalize(word)
  return (word:gsub("^%l", string.upper))
end

return words
