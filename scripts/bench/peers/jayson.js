// jayson over HTTP: node jayson.js PORT, with NODE_PATH naming its folder.
'use strict';
const jayson = require('jayson');

const server = new jayson.Server({
  subtract(params, done) {
    done(null, Array.isArray(params) ? params[0] - params[1]
                                     : params.minuend - params.subtrahend);
  },
});
server.http().listen(Number(process.argv[2]), '127.0.0.1');
