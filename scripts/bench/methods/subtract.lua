-- The method that every peer of the benchmark has, too.
return function(minuend, subtrahend)
  return minuend - subtrahend
end
