module lendbook

go 1.23
