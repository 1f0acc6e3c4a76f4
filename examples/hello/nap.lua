-- Waiting: other calls run meanwhile.
return function(seconds)
  rpc.sleep(seconds or 1)
  return "well rested"
end
