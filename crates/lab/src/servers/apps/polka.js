require('polka')().use(require('./pages')).listen(Number(process.argv[2]), '127.0.0.1');
