const app = require('express')();
app.use(require('./pages'));
app.listen(Number(process.argv[2]), '127.0.0.1');
