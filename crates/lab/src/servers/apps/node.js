require('node:http').createServer(require('./pages')).listen(Number(process.argv[2]), '127.0.0.1');
