module parcelo.example/worker

go 1.22
